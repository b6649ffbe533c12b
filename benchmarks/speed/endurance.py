"""Does memory stay flat over a million requests, and how soon does the service answer after its start?

    python -m benchmarks.speed.endurance --cached 1000000 --uncached 50000

starts a service several times on the same store and asks it for a similarity; then 32 clients ask one service for
similarities of the same texts again and again, and another one, which has no cache, for vectors of texts of 3 to 200
words that were never there before. It prints the seconds from the start to the first answer, and the resident memory in
the course of the requests. A million cached requests take some ten minutes. The exit code is 1 if memory grew after the
first quarter, or the median start took too long.
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

from tests.support.clients import Load, ask_all, post, put_under
from tests.support.figures import keep
from tests.support.questions import excerpts
from tests.support.running_service import Service, running_process
from tests.support.vital_signs import VitalSigns, watched
from tests.support.wide_console import wide_console

CLIENTS = 32
MODEL = "minilm"
CACHED_PAIRS = 500
STARTS = 5
START_S = 6.0  # longest median
GROWN_SHARE, GROWN_MB = 0.03, 20.0  # memory that grew by no more than the larger of these is flat


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory over requests of one kind, once what is loaded on first use is loaded; at its least, see below.

    Between two trims (service/process/tuning.py) memory rises: what leaks is never given back.
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
        """Whether it hardly grew."""
        return self.grown_mb <= max(GROWN_MB, GROWN_SHARE * self.second_quarter_mb)


def starts(count: int) -> list[float]:
    """Seconds from the start of a process to its first answer, when the files are in the machine's memory."""
    with TemporaryDirectory() as folder:
        return [_start(Service(Path(folder))) for _ in track(range(count + 1), "starts")][1:]


def _start(service: Service) -> float:
    began = time.perf_counter()
    try:
        url = service.start()
        ask_all(url, [_similarity("A man is playing a guitar.", "Someone plays an instrument.")])
        return time.perf_counter() - began
    finally:
        service.stop()


def cached(count: int) -> tuple[Memory, VitalSigns]:
    """The same texts again and again."""
    texts = excerpts(2 * CACHED_PAIRS, seed=0)
    pairs = [_similarity(a, b) for a, b in zip(texts[::2], texts[1::2], strict=True)]
    with running_process() as service:
        return _memory(service, "cached", cycle(pairs), count)


def uncached(count: int) -> tuple[Memory, VitalSigns]:
    """Texts that were never there before."""
    texts = excerpts(count, seed=1)
    requests = (post("/v1/embeddings", {"model": MODEL, "input": [text], "truncate": "END"}) for text in texts)
    with running_process(cache="none", models=MODEL) as service:
        return _memory(service, "uncached", requests, count)


def _memory(service: Service, kind: str, requests: Iterator[bytes], count: int) -> tuple[Memory, VitalSigns]:
    print(f"{count:,} {kind} requests ...", flush=True)
    with watched(service) as signs:
        seen = put_under(service.url, float("inf"), Load(islice(requests, count), CLIENTS))
    grown = signs.final_mb - signs.settled_mb
    sizes = (signs.settled_mb, signs.final_mb, max(signs.memory_mb), grown)
    return Memory(kind, count, seen.loads[0].wall_s, *sizes, signs.live_spread.p99_ms), signs


def _similarity(a: str, b: str) -> bytes:
    return post("/similarity", {"pairs": [{"a": a, "b": b}]})


def show(rows: Sequence[Memory], started_s: Sequence[float], console: Console) -> None:
    """Print them."""
    names = ("requests", "count", "seconds", "second quarter, MB", "last quarter, MB", "most, MB", "grown, MB")
    table = Table(*names, "/live p99, ms", title="resident memory, at its least in a quarter of the time")
    for row in rows:
        sizes = (row.second_quarter_mb, row.last_quarter_mb, row.most_mb, row.grown_mb, row.live_p99_ms)
        table.add_row(row.requests, f"{row.count:,}", f"{row.seconds:.0f}", *(f"{size:,.1f}" for size in sizes))
    console.print(table)
    span = f"{min(started_s):.2f} to {max(started_s):.2f}"
    console.print(f"from the start to the first answer: {median(started_s):.2f} s, {span} in {len(started_s)} starts")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cached", type=int, default=1_000_000)
    parser.add_argument("--uncached", type=int, default=50_000)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--quick", action="store_true", help="few requests, whose figures are not kept")
    asked = parser.parse_args(arguments)
    counts = (10_000, 300, 1) if asked.quick else (asked.cached, asked.uncached, asked.starts)
    started_s = starts(counts[2])
    measured = [cached(counts[0]), uncached(counts[1])]
    rows = [memory for memory, _ in measured]
    show(rows, started_s, wide_console())
    if asked.quick:
        return
    figures = {"starts": len(started_s), "median_s": median(started_s), "least_s": min(started_s)}
    keep("endurance", [[asdict(row) for row in rows], [figures | {"most_s": max(started_s)}]])
    keep("endurance-memory", {memory.requests: signs.memory_mb for memory, signs in measured})
    grown = [row.requests for row in rows if not row.flat]
    if grown or median(started_s) > START_S:
        sys.exit(f"memory grew: {', '.join(grown) or 'no'}; median start {median(started_s):.1f} s")


if __name__ == "__main__":
    main()
