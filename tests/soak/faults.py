"""Does a deployment lose nothing, whatever fails in it?

    python -m tests.soak.faults --seconds 600 --seed 1

Two minutes of a mixed load without faults, then faults by chance one after the other, then two minutes without. After
each, all that every replica holds is compared with what was acknowledged. Memory is that of the replicas, summed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.soak.injected.catalogue import FAULTS
from tests.soak.injected.fault import Fault
from tests.soak.injected.stage import NONE, Outcome, Stage
from tests.support.figures import keep
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment
from tests.support.vital_signs import resident_mb
from tests.support.wide_console import wide_console

REPLICAS = 3
QUIET_S = 120.0
MEASURED_S = 60.0  # of memory, at the end of each quiet time
SAMPLED_EVERY_S = 1.0
GROWTH = 1.10  # most that memory may be at the end, by that after the warm-up
BESIDE_S = 10.0  # of load beside what a fault lasts, at most


@dataclass(slots=True)
class Memory:
    """What all replicas take together, again and again."""

    sampled: list[tuple[float, float]] = field(default_factory=list)  # when, and how many MB

    def lately(self) -> float:
        """Mean over the last time."""
        since = time.monotonic() - MEASURED_S
        found = [mb for at, mb in self.sampled if at > since]
        return sum(found) / len(found)


def schedule(seconds: float, chance: random.Random) -> Iterator[tuple[Fault, float, float]]:
    """Faults with the seconds of load and the seconds that each lasts, until the time is up; all come in turn."""
    over = time.monotonic() + seconds
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            if time.monotonic() > over:
                return
            lasts_s = fault.lasts_s * chance.uniform(0.3, 1.0)
            yield fault, lasts_s + chance.uniform(2.0, BESIDE_S), lasts_s


def run(seconds: float, seed: int, quiet_s: float, console: Console) -> tuple[list[Outcome], dict[str, float]]:
    """What every fault came to, the quiet times included, and the memory before and after."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, Deployment(Path(folder), REPLICAS) as deployment:
        stage = Stage(deployment, chance.getrandbits(32))
        stage.fill()
        with _sampled(deployment.replicas) as memory:
            outcomes = [stage.exercise(NONE, quiet_s)]
            warm_mb = memory.lately()
            for fault, load_s, lasts_s in schedule(seconds, chance):
                outcomes.append(stage.exercise(fault, load_s, lasts_s))
                console.print(f"{fault.name}: {'; '.join(outcomes[-1].broken) or 'nothing lost'}", markup=False)
            outcomes.append(stage.exercise(NONE, quiet_s))
            return outcomes, {"memory_after_warm_up_mb": warm_mb, "memory_at_the_end_mb": memory.lately()}


@contextmanager
def _sampled(replicas: Sequence[Service]) -> Iterator[Memory]:
    memory, over = Memory(), threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLED_EVERY_S):
            pids = [pid for replica in replicas if (pid := replica.pid) is not None]
            if len(pids) == len(replicas):
                memory.sampled.append((time.monotonic(), sum(map(resident_mb, pids))))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield memory
    finally:
        over.set()
        sampler.join()


def report(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for each fault, of all its times together, and one for all."""
    rows: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        for name in (outcome.fault.name, "all together"):
            rows[name] = _joined(rows.get(name, {"fault": name, "times": 0}), outcome.row())
    return [*(row for name, row in rows.items() if name != "all together"), rows["all together"]]


def _joined(row: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Counts add up; of the slowest the slowest stays."""
    joined = {"fault": row["fault"], "times": row["times"] + 1}
    for name, value in more.items():
        if name.startswith("slowest"):
            joined[name] = max(row.get(name, value), value)
        elif name != "fault":
            joined[name] = row.get(name, 0) + value
    return joined


def by_kind(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for each kind of request, with why those failed that did."""
    sent: Counter[str] = sum((outcome.tally.sent for outcome in outcomes), Counter())
    failed: Counter[tuple[str, str]] = sum((outcome.tally.failed for outcome in outcomes), Counter())
    return [
        {
            "request": kind,
            "sent": count,
            "answered": count - sum(n for (each, _), n in failed.items() if each == kind),
            "failed": ", ".join(f"{n} x {why}" for (each, why), n in sorted(failed.items()) if each == kind),
        }
        for kind, count in sent.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="of faults")
    parser.add_argument("--quiet", type=float, default=QUIET_S, help="seconds without faults, before and after")
    parser.add_argument("--seed", type=int, default=1, help="what chance decides comes from")
    given = parser.parse_args(arguments)
    console = wide_console()
    outcomes, memory = run(given.seconds, given.seed, given.quiet, console)
    tables: list[list[dict[str, Any]]] = [by_kind(outcomes), report(outcomes), [memory]]
    for rows in tables:
        table = Table(*(name.replace("_", " ") for name in rows[0]))
        for row in rows:
            table.add_row(*(f"{value:,.1f}" if isinstance(value, float) else str(value) for value in row.values()))
        console.print(table)
    keep("faults", tables)
    broken = [f"{outcome.fault.name}: {what}" for outcome in outcomes for what in outcome.broken]
    if memory["memory_at_the_end_mb"] > GROWTH * memory["memory_after_warm_up_mb"]:
        broken.append("memory grew by more than a tenth")
    if broken:
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
