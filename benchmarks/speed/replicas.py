"""What does it cost to serve documents from replicas with local copies?

    python -m benchmarks.speed.replicas --documents 100000

uses a real PostgreSQL and an encoder of words that costs next to nothing (16 numbers per document). It prints the rates
of storing documents and of a new replica catching up, the start time from nothing and from its copy and snapshot, the
replica lag behind 200 documents per second in batches of 20, and the memory per document.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from semblance.service.ports.documents import Version
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.word_models import DIM, sentence, write_model
from tests.support.service_monitor import resident_mb
from tests.support.wide_console import wide_console

COLLECTION = "replicas"
RATE = 200  # documents per second while the lag is measured
BATCH = 20
POLL_S = 0.002  # between requests for the version of the other replica


@dataclass(slots=True)
class Costs:
    """All figures."""

    documents: int
    numbers_per_vector: int
    stored_per_second: float
    start_without_documents_s: float
    start_from_nothing_s: float
    caught_up_per_second: float
    start_from_snapshot_s: float
    documents_per_second_while_lagging: float
    lag_p50_ms: float
    lag_p99_ms: float
    memory_without_documents_mb: float
    memory_mb: float
    memory_bytes_per_document: float


def run(documents: int, seconds: float, console: Console) -> Costs:
    """Measure all figures on servers started for this run."""
    with tempfile.TemporaryDirectory() as folder, _postgres() as postgres:
        model = write_model(Path(folder) / "words.npz", seed=0)
        first, second = (_replica(Path(folder) / name, postgres.url, model) for name in ("first", "second"))
        try:
            first.start()
            empty_s, empty_mb = _start(second), resident_mb(second.process.pid)
            second.stop()
            stored = _fill(first.url, documents, console)
            console.print("starting a replica from nothing, and from its copy and snapshot ...")
            _remove_copy(Path(folder) / "second")
            nothing_s = _start(second)
            second.stop()  # writes a snapshot
            snapshot_s = _start(second)
            memory_mb = resident_mb(second.process.pid)
            lags, rate = _lags(first.url, second.url, seconds, console)
        finally:
            first.stop()
            second.stop()
    return Costs(
        documents=documents,
        numbers_per_vector=DIM,
        stored_per_second=stored,
        start_without_documents_s=empty_s,
        start_from_nothing_s=nothing_s,
        caught_up_per_second=documents / (nothing_s - empty_s),
        start_from_snapshot_s=snapshot_s,
        documents_per_second_while_lagging=rate,
        lag_p50_ms=1000 * float(np.percentile(lags, 50)),
        lag_p99_ms=1000 * float(np.percentile(lags, 99)),
        memory_without_documents_mb=empty_mb,
        memory_mb=memory_mb,
        memory_bytes_per_document=(memory_mb - empty_mb) * 1024**2 / documents,
    )


@contextmanager
def _postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        server.create_database()
        yield server
    finally:
        server.remove()


def _replica(home: Path, database_url: str, model: Path) -> Service:
    home.mkdir()
    return Service(home, database_url=database_url, models=f"words={model}", cache="none")


def _start(service: Service) -> float:
    start_s = time.perf_counter()
    service.start()
    return time.perf_counter() - start_s


def _remove_copy(home: Path) -> None:
    for file in home.glob("copy.sqlite*"):
        file.unlink()


def _fill(url: str, documents: int, console: Console) -> float:
    """Store documents through one replica; returns documents per second."""
    rng = random.Random(0)
    lines = [
        json.dumps({"id": f"d{number:07}", "text": sentence(rng), "metadata": {"part": number % 10}}).encode() + b"\n"
        for number in range(documents)
    ]
    with Client(url) as client:
        client.create_collection(COLLECTION)
        start_s = time.perf_counter()
        client.upload(track(lines, "storing", console=console), COLLECTION)
    return documents / (time.perf_counter() - start_s)


def _lags(writing_url: str, other_url: str, seconds: float, console: Console) -> tuple[list[float], float]:
    """Replica lags in seconds, and documents written per second.

    The lag of a write is the time from its response on one replica until the other one has its version; 0 if earlier.
    """
    rng, path = random.Random(1), f"/collections/{COLLECTION}"
    written: dict[int, float] = {}
    observed: list[tuple[int, float]] = []
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(other_url, path, observed, stop))
    watcher.start()
    with httpx2.Client(base_url=writing_url, timeout=60) as http:
        start_s = time.perf_counter()
        for number in track(range(round(seconds * RATE / BATCH)), "writing and watching", console=console):
            time.sleep(max(0.0, start_s + number * BATCH / RATE - time.perf_counter()))
            batch = [{"id": f"lag-{number % 50}-{i}", "text": sentence(rng)} for i in range(BATCH)]
            answer = http.post(f"{path}/documents", json={"documents": batch}).raise_for_status()
            written[Version.parse(answer.json()["version"]).number] = time.perf_counter()
        rate = len(written) * BATCH / (time.perf_counter() - start_s)
    last = max(written)
    while not observed or observed[-1][0] < last:
        time.sleep(POLL_S)
    stop.set()
    watcher.join()
    copied = {version: next(at for number, at in observed if number >= version) for version in written}
    return [max(0.0, copied[version] - at) for version, at in written.items()], rate


def _watch(url: str, path: str, observed: list[tuple[int, float]], stop: threading.Event) -> None:
    """Record when each new version is first seen."""
    with httpx2.Client(base_url=url, timeout=60) as http:
        while not stop.wait(POLL_S):
            number = Version.parse(http.get(path).json()["version"]).number
            if not observed or number > observed[-1][0]:
                observed.append((number, time.perf_counter()))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="duration of writing while the lag is measured")
    options = parser.parse_args()
    console = wide_console()
    costs = asdict(run(options.documents, options.seconds, console))
    table = Table("figure", "value", title="costs of replicas")
    for name, value in costs.items():
        table.add_row(name.replace("_", " "), f"{value:,.3g}" if isinstance(value, float) else f"{value:,}")
    console.print(table)
    save_results("replicas", costs)


if __name__ == "__main__":
    main()
