"""Does memory stay flat over a million requests, and how fast does the service start?

    python -m benchmarks.speed.endurance --cached 1000000 --uncached 50000

starts a service several times on the same store and sends it a similarity. Then 32 clients send one service
similarities of the same texts repeatedly, and another one without a cache new texts of 3 to 200 words to embed. It
prints the seconds from start to first response, and the resident memory during the requests. A million cached requests
take about ten minutes. The exit code is 1 if memory grew after the first quarter, or if the median start took too long.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.support.checked_requests import excerpts
from tests.support.load_generator import Load, post, run_loads, send_all
from tests.support.results import save_results
from tests.support.running_service import Service, running_process
from tests.support.service_monitor import ServiceMonitor, monitored
from tests.support.wide_console import wide_console

CLIENTS = 32
MODEL = "minilm"
CACHED_PAIRS = 500
STARTS = 5
START_S = 6.0  # longest permitted median
GROWN_SHARE, GROWN_MB = 0.03, 20.0  # memory that grew by at most the larger of these counts as flat


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory during requests of one kind: minima of two quarters, and maximum.

    Minima, because memory rises between two trims (service/process/server.py); a leak is never returned.
    """

    requests: str
    count: int
    seconds: float
    second_quarter_mb: float
    last_quarter_mb: float
    most_mb: float
    grown_mb: float
    live_p99_ms: float

    @property
    def flat(self) -> bool:
        """Whether it grew by no more than the bounds."""
        return self.grown_mb <= max(GROWN_MB, GROWN_SHARE * self.second_quarter_mb)


def starts(count: int) -> list[float]:
    """Seconds from process start to first response, with a warm page cache."""
    with TemporaryDirectory() as folder:
        return [_start(Service(Path(folder))) for _ in track(range(count + 1), "starts")][1:]


def _start(service: Service) -> float:
    start_s = time.perf_counter()
    try:
        url = service.start()
        send_all(url, [_similarity("A man is playing a guitar.", "Someone plays an instrument.")])
        return time.perf_counter() - start_s
    finally:
        service.stop()


def cached(count: int) -> tuple[Memory, ServiceMonitor]:
    """Send the same texts repeatedly."""
    texts = excerpts(2 * CACHED_PAIRS, seed=0)
    pairs = [_similarity(a, b) for a, b in zip(texts[::2], texts[1::2], strict=True)]
    with running_process() as service:
        return _memory(service, "cached", cycle(pairs), count)


def uncached(count: int) -> tuple[Memory, ServiceMonitor]:
    """Send new texts only."""
    texts = excerpts(count, seed=1)
    requests = (post("/v1/embeddings", {"model": MODEL, "input": [text], "truncate": "END"}) for text in texts)
    with running_process(cache="none", models=MODEL) as service:
        return _memory(service, "uncached", requests, count)


def _memory(service: Service, kind: str, requests: Iterator[bytes], count: int) -> tuple[Memory, ServiceMonitor]:
    print(f"{count:,} {kind} requests ...", flush=True)
    with monitored(service) as monitor:
        run = run_loads(service.url, float("inf"), Load(islice(requests, count), CLIENTS))
    grown = monitor.final_mb - monitor.settled_mb
    sizes_mb = (monitor.settled_mb, monitor.final_mb, max(monitor.memory_mb), grown)
    return Memory(kind, count, run.loads[0].wall_s, *sizes_mb, monitor.live_percentiles.p99_ms), monitor


def _similarity(a: str, b: str) -> bytes:
    return post("/similarity", {"pairs": [{"a": a, "b": b}]})


def show(rows: Sequence[Memory], start_times_s: Sequence[float], console: Console) -> None:
    """Print the memory and the start times."""
    names = ("requests", "count", "seconds", "second quarter, MB", "last quarter, MB", "most, MB", "grown, MB")
    table = Table(*names, "/live p99, ms", title="resident memory, minimum of a quarter of the time")
    for row in rows:
        figures = (row.second_quarter_mb, row.last_quarter_mb, row.most_mb, row.grown_mb, row.live_p99_ms)
        table.add_row(row.requests, f"{row.count:,}", f"{row.seconds:.0f}", *(f"{each:,.1f}" for each in figures))
    console.print(table)
    span = f"{min(start_times_s):.2f} to {max(start_times_s):.2f}"
    middle = median(start_times_s)
    console.print(f"from start to first response: {middle:.2f} s, {span} in {len(start_times_s)} starts")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cached", type=int, default=1_000_000)
    parser.add_argument("--uncached", type=int, default=50_000)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--quick", action="store_true", help="few requests; saves no figures")
    options = parser.parse_args(arguments)
    counts = (10_000, 300, 1) if options.quick else (options.cached, options.uncached, options.starts)
    start_times_s = starts(counts[2])
    measurements = [cached(counts[0]), uncached(counts[1])]
    rows = [memory for memory, _ in measurements]
    show(rows, start_times_s, wide_console())
    if options.quick:
        return
    figures = {"starts": len(start_times_s), "median_s": median(start_times_s), "least_s": min(start_times_s)}
    save_results("endurance", [[asdict(row) for row in rows], [figures | {"most_s": max(start_times_s)}]])
    save_results("endurance-memory", {memory.requests: monitor.memory_mb for memory, monitor in measurements})
    grown = [row.requests for row in rows if not row.flat]
    if grown or median(start_times_s) > START_S:
        sys.exit(f"memory grew: {', '.join(grown) or 'no'}; median start {median(start_times_s):.1f} s")


if __name__ == "__main__":
    main()
