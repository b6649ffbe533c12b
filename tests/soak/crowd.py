"""Is everybody else still served when some clients are many, slow or large?

    python -m tests.soak.crowd --idle 2000 --tiny 10000

starts a service, opens connections that say nothing, and lets one misfortune after the other come upon it: a body that
trickles in and one that stops, a body over the limit, bodies of just the allowed size made of text or of what is
costly to read, and a flood of tiny requests. All the while another client makes its usual requests. Each line says what
the troublemakers were answered, how the other client fared, how soon /live answered, and what became of memory; the
exit code is 1 if anything was not as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field

import httpx2
from rich.console import Console
from rich.table import Table

from semblance.service.process.connections import allow_files
from tests.soak.troubles import LARGEST, Trouble, Wire, troubles
from tests.support.figures import keep
from tests.support.running_service import Service, running_process
from tests.support.vital_signs import Spread, VitalSigns, resident_mb, spread, watched
from tests.support.wide_console import wide_console

IDLE_S = 600  # how long the service lets a connection say nothing, here: so that all stay to the end
LIVE_P99_MS = 250.0  # all the tiny requests come at once, and /live takes its turn among them
OTHERS_MS = 30_000.0  # no longer than a request of the largest allowed size takes the model, which comes first when due
GROWN_MB = 300.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many connections say nothing, how many requests are tiny, and how large a body may be, in bytes."""

    idle: int = 2000
    tiny: int = 10_000
    largest: int = LARGEST


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one misfortune: statuses of those who caused it, and milliseconds of the others."""

    trouble: str
    seconds: float
    statuses: Mapping[int, int]
    expected: Sequence[int]
    others: Spread
    others_failed: int
    live: Spread
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Report:
    """All of them; `still_open` counts the idle connections at the end."""

    rows: Sequence[Row]
    idle: int
    still_open: int
    memory_before_mb: float
    memory_most_mb: float
    memory_after_mb: float
    live: Spread
    live_failures: int
    load_average: float

    def summary(self) -> list[dict[str, object]]:
        """A line for each kind of trouble."""
        return [
            {
                "trouble": row.trouble,
                "seconds": row.seconds,
                "answers": ", ".join(f"{count:,} x {status}" for status, count in row.statuses.items()),
                "requests_of_others": row.others.count,
                "of_them_failed": row.others_failed,
                "others_p50_ms": row.others.p50_ms,
                "others_slowest_ms": row.others.max_ms,
                "live_p99_ms": row.live.p99_ms,
                "memory_mb": row.memory_mb,
            }
            for row in self.rows
        ]

    def faults(self, live_p99_ms: float = LIVE_P99_MS) -> list[str]:
        """What was not as it should be."""
        grown = self.memory_most_mb - self.memory_before_mb
        wrong = {
            f"only {self.still_open} of {self.idle} idle connections stayed": self.still_open < self.idle,
            f"/live failed {self.live_failures} times": self.live_failures > 0,
            f"/live has p99 {self.live.p99_ms:.0f} ms": self.live.p99_ms > live_p99_ms,
            f"memory grew by {grown:.0f} MB": grown > GROWN_MB,
        }
        for row in self.rows:
            wrong |= {
                f"{row.trouble}: answered {dict(row.statuses)}": set(row.statuses) != set(row.expected),
                f"{row.trouble}: {row.others_failed} requests of others failed": row.others_failed > 0,
                f"{row.trouble}: others waited {row.others.max_ms:.0f} ms": row.others.max_ms > OTHERS_MS,
            }
        return [what for what, holds in wrong.items() if holds]


@dataclass(slots=True)
class Bystander:
    """Somebody who only wants a similarity or a search now and then: when, seconds, and the status."""

    url: str
    asked: list[tuple[float, float, int]] = field(default_factory=list)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """It asks as long as the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._ask, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _ask(self, over: threading.Event) -> None:
        with httpx2.Client(base_url=self.url, timeout=60) as http:
            while not over.wait(0.02):
                number, began = len(self.asked), time.monotonic()
                text = f"How do I get parcel number {number} back?"
                wanted = {"query": text} if number % 2 else {"pairs": [{"a": text, "b": "A dog."}]}
                try:
                    status = http.post("/search" if number % 2 else "/similarity", json=wanted).status_code
                except httpx2.TransportError:
                    status = 0
                self.asked.append((began, time.monotonic() - began, status))


def run(service: Service, crowd: Crowd) -> Report:
    """Let all of it come upon a running service."""
    bystander = Bystander(service.url)
    with watched(service) as signs, bystander.asking():
        lines, still_open = asyncio.run(_all(service, crowd))
        time.sleep(2)  # until memory that is given back is given back
    rows = [_row(line, bystander, signs) for line in lines]
    return Report(
        rows=rows,
        idle=crowd.idle,
        still_open=still_open,
        memory_before_mb=lines[0].memory_mb,
        memory_most_mb=max(signs.memory_mb),
        memory_after_mb=signs.memory_mb[-1],
        live=signs.live_spread,
        live_failures=signs.live_failures,
        load_average=max(signs.load_average),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A trouble that is over: from when to when, and the memory after it."""

    trouble: Trouble
    began: float
    ended: float
    statuses: Counter[int]
    memory_mb: float


async def _all(service: Service, crowd: Crowd) -> tuple[list[_Line], int]:
    """One trouble after the other, between idle connections; and how many of these are open at the end."""
    lines = []
    async with AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(Wire.dialled(service.url)) for _ in range(crowd.idle)]
        for trouble in troubles(crowd.tiny, crowd.largest):
            began = time.monotonic()
            statuses = await trouble.act(service.url)
            lines.append(_Line(trouble, began, time.monotonic(), statuses, resident_mb(service.process.pid)))
        still_open = [not await wire.closed() for wire in silent]
    return lines, sum(still_open)


def _row(line: _Line, bystander: Bystander, signs: VitalSigns) -> Row:
    others = [each for each in bystander.asked if line.began <= each[0] <= line.ended]
    live = [seconds for began, seconds, _ in signs.live if line.began <= began <= line.ended]
    return Row(
        trouble=line.trouble.name,
        seconds=line.ended - line.began,
        statuses=dict(line.statuses),
        expected=line.trouble.expected,
        others=spread([seconds for _, seconds, _ in others]),
        others_failed=sum(status != 200 for _, _, status in others),
        live=spread(live),
        memory_mb=line.memory_mb,
    )


def show(made: Report, console: Console) -> None:
    """Print it."""
    table = Table("trouble", "s", "answers", "others", "p50 ms", "max ms", "/live p99 ms", "MB")
    for row in made.rows:
        answers = ", ".join(f"{count:,} x {status}" for status, count in row.statuses.items())
        per_s = sum(row.statuses.values()) / row.seconds
        table.add_row(
            row.trouble,
            f"{row.seconds:.1f}",
            answers + (f" ({per_s:.0f}/s)" if per_s > 10 and len(row.statuses) == 1 and row.seconds > 1 else ""),
            f"{row.others.count}" + (f", {row.others_failed} failed" if row.others_failed else ""),
            *(f"{each:.0f}" for each in (row.others.p50_ms, row.others.max_ms, row.live.p99_ms, row.memory_mb)),
        )
    console.print(table)
    console.print(f"idle connections still open at the end: {made.still_open:,} of {made.idle:,}")
    console.print(
        f"/live over all: p50 {made.live.p50_ms:.1f} ms, p99 {made.live.p99_ms:.1f} ms, {made.live_failures} failures"
    )
    console.print(f"memory: at most {made.memory_most_mb:.0f} MB, {made.memory_after_mb:.0f} MB at the end")
    console.print(f"load average of the machine meanwhile: {made.load_average:.1f}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--idle", type=int, default=2000, help="idle connections")
    parser.add_argument("--tiny", type=int, default=10_000, help="tiny requests")
    arguments = parser.parse_args()
    console = wide_console()
    if complaint := allow_files(arguments.idle):
        sys.exit(complaint)
    with running_process(sample="1", header_timeout_s=str(IDLE_S)) as service:
        made = run(service, Crowd(arguments.idle, arguments.tiny))
    show(made, console)
    keep("crowd", made.summary())
    faults = made.faults()
    for fault in faults:
        console.print(f"[red]{fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
