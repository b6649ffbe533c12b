"""Are other clients still served while some are many, slow or large?

    python -m tests.soak.noisy_neighbors --idle 2000 --tiny 10000

starts a service, opens idle connections, and misbehaves in one way after the other: a slow body, an incomplete one, one
over the limit, bodies of exactly the limit that consist of text or are costly to parse, and a flood of tiny requests.
Meanwhile a normal client sends its usual requests. Each row shows the statuses of the misbehaving requests, the latency
of the normal client and of /live, and the memory; the exit code is 1 if a bound was exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from semblance.service.process.server import raise_file_limit
from tests.soak.figures import broken, conclude
from tests.soak.misbehaving_clients import LARGEST, Misbehavior, misbehaviors
from tests.soak.normal_client import Call, NormalClient
from tests.support.load_generator import Connection
from tests.support.project import PROJECT
from tests.support.running_service import Service, running_process
from tests.support.service_monitor import ServiceMonitor, monitored, percentiles, resident_mb
from tests.support.waiting import eventually

# idle connections stay open, and a body that stops is refused soon
TIMEOUTS = {"header_timeout_s": "600", "body_pause_s": "10"}
LIVE_P99_MS = 250.0  # /live queues behind all tiny requests, which arrive at once
OTHERS_MS = 30_000.0  # the model's time for a request of the largest size, which runs first once it is due
MAX_GROWTH_MB = 300.0


@dataclass(frozen=True, slots=True)
class NoiseOptions:
    """Numbers of idle connections, of tiny requests, and of requests beside the idle ones; limit of a body in bytes."""

    idle: int = 2000
    tiny: int = 10_000
    quiet: int = 100
    largest: int = LARGEST


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Start and end of a misbehavior, the statuses of its requests, and the memory after it."""

    misbehavior: Misbehavior
    start: float
    end: float
    statuses: Mapping[int, int]
    memory_mb: float

    def within(self, calls: Sequence[tuple[float, float, int]]) -> list[Call]:
        """Those that were sent meanwhile."""
        return [Call(*each) for each in calls if self.start <= each[0] <= self.end]


@dataclass(frozen=True, slots=True)
class Report:
    """All results, the requests of the normal client, and the number of idle connections still open at the end."""

    rows: Sequence[CaseResult]
    others: Sequence[Call]
    idle: int
    still_open: int
    monitor: ServiceMonitor

    def summary(self) -> list[dict[str, object]]:
        return [
            {
                "trouble": row.misbehavior.name,
                "seconds": row.end - row.start,
                "answers": ", ".join(f"{count:,} x {status}" for status, count in row.statuses.items()),
                "requests_of_others": len(sent := row.within(self.others)),
                "of_them_failed": self._failed(row),
                "others_p50_ms": percentiles([each.seconds for each in sent]).p50_ms,
                "others_slowest_ms": self._slowest_ms(row),
                "live_p99_ms": percentiles([each.seconds for each in row.within(self.monitor.live)]).p99_ms,
                "memory_mb": row.memory_mb,
            }
            for row in self.rows
        ]

    def faults(self) -> list[str]:
        failures = self.monitor.live_failures
        checks = {
            f"only {self.still_open} of {self.idle} idle connections stayed": self.still_open < self.idle,
            f"/live failed {failures} times": failures > 0,
        }
        for row in self.rows:
            name, failed = row.misbehavior.name, self._failed(row)
            checks[f"{name}: answered {dict(row.statuses)}"] = set(row.statuses) != set(row.misbehavior.expected)
            checks[f"{name}: {failed} requests of others failed"] = failed > 0
        return broken(checks)

    def exceeded(self) -> list[str]:
        growth_mb = max(self.monitor.memory_mb) - self.rows[0].memory_mb
        p99_ms = self.monitor.live_percentiles.p99_ms
        checks = {
            f"/live has p99 {p99_ms:.0f} ms": p99_ms > LIVE_P99_MS,
            f"memory grew by {growth_mb:.0f} MB": growth_mb > MAX_GROWTH_MB,
        }
        for row in self.rows:
            slowest_ms = self._slowest_ms(row)
            checks[f"{row.misbehavior.name}: others waited {slowest_ms:.0f} ms"] = slowest_ms > OTHERS_MS
        return broken(checks)

    def _failed(self, row: CaseResult) -> int:
        return sum(each.status != 200 for each in row.within(self.others))

    def _slowest_ms(self, row: CaseResult) -> float:
        return 1000 * max((each.seconds for each in row.within(self.others)), default=0.0)


def run(service: Service, options: NoiseOptions) -> Report:
    normal_client = NormalClient(service.url)
    with monitored(service) as monitor, normal_client.running():
        rows, still_open = asyncio.run(_run_all(service, options, normal_client))
    return Report(rows, normal_client.calls, options.idle, still_open, monitor)


async def _run_all(
    service: Service, options: NoiseOptions, normal_client: NormalClient
) -> tuple[list[CaseResult], int]:
    """Run one misbehavior after the other; also counts idle connections open at the end."""
    rows, pid = [], service.process.pid

    async def do_nothing(_: str) -> Counter[int]:
        wanted = len(normal_client.calls) + options.quiet
        await eventually(lambda: len(normal_client.calls) >= wanted, "requests beside idle connections")
        return Counter()

    quiet = Misbehavior("nothing but idle connections", (), do_nothing)
    async with AsyncExitStack() as stack:
        idle = [await stack.enter_async_context(Connection.opened(service.url)) for _ in range(options.idle)]
        for misbehavior in (quiet, *misbehaviors(options.tiny, options.largest)):
            start = time.monotonic()
            statuses = await misbehavior.act(service.url)
            rows.append(CaseResult(misbehavior, start, time.monotonic(), statuses, resident_mb(pid)))
        return rows, sum(connection.is_open for connection in idle)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--idle", type=int, default=2000, help="idle connections")
    parser.add_argument("--tiny", type=int, default=10_000, help="tiny requests")
    options = parser.parse_args()
    if error := raise_file_limit(options.idle):
        sys.exit(error)
    with running_process(PROJECT, None, sample="1", **TIMEOUTS) as service:
        report = run(service, NoiseOptions(options.idle, options.tiny))
    summary = report.summary()
    conclude("crowd", summary, [summary], [*report.faults(), *report.exceeded()])


if __name__ == "__main__":
    main()
