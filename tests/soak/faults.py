"""Does a deployment keep its guarantees, whatever fails in it?

    python -m tests.soak.faults --seconds 600 --seed 1
    python -m tests.soak.faults --stateless

runs two minutes of a mixed load without faults, then random faults one after the other, then two minutes without. The
load writes documents, aliases and a glossary, and after each fault those of every replica are compared with the
acknowledged writes. Memory is the sum over replicas.
With `--stateless`, replicas keep no copy and search a Milvus Lite, and faults are those of Milvus.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from tests.soak.fault_injection.catalogue import FAULTS, STATELESS_FAULTS
from tests.soak.fault_injection.fault import Fault
from tests.soak.fault_injection.harness import NO_FAULT, FaultHarness, FaultOutcome
from tests.soak.figures import conclude
from tests.support.servers.deployment import Deployment
from tests.support.service_monitor import resident_mb, sampling
from tests.support.wide_console import wide_console

REPLICAS = 3
QUIET_S = 120.0
MEASURED_S = 60.0  # of memory, at the end of each quiet period
GROWTH = 1.10  # largest ratio of the memory at the end to that after the warm-up
EXTRA_LOAD_S = 10.0  # most seconds of load in addition to the duration of a fault


def schedule(faults: Sequence[Fault], seconds: float, rng: random.Random) -> Iterator[tuple[Fault, float, float]]:
    """All these faults in random order, with seconds of load and duration, until the time is up."""
    end = time.monotonic() + seconds
    while faults:
        for fault in rng.sample(faults, len(faults)):
            if time.monotonic() > end:
                return
            lasts_s = fault.lasts_s * rng.uniform(0.3, 1.0)
            yield fault, lasts_s + rng.uniform(2.0, EXTRA_LOAD_S), lasts_s


def possible(faults: Sequence[Fault], deployment: Deployment, console: Console) -> list[Fault]:
    """The faults that can be injected on this machine; prints why others cannot."""
    lacking = {fault.name: fault.lacks(deployment) for fault in faults}
    for name, lacks in lacking.items():
        if lacks:
            console.print(f"{name}: SKIPPED, needs {lacks}", markup=False)
    return [fault for fault in faults if not lacking[fault.name]]


def run(
    faults: Sequence[Fault], seconds: float, seed: int, quiet_s: float, console: Console, *, stateless: bool = False
) -> tuple[list[FaultOutcome], dict[str, float]]:
    """Run faults between two quiet periods; returns outcomes, and memory before and after."""
    rng = random.Random(seed)
    samples: list[tuple[float, float]] = []  # time, and MB of all replicas together
    with tempfile.TemporaryDirectory() as folder, Deployment(Path(folder), REPLICAS, stateless=stateless) as deployment:

        def sample() -> None:
            pids = [replica.pid for replica in deployment.replicas if replica.pid is not None]
            if len(pids) == REPLICAS:
                samples.append((time.monotonic(), sum(map(resident_mb, pids))))

        harness = FaultHarness(deployment, rng.getrandbits(32))
        harness.fill()
        with sampling(sample):
            outcomes = [harness.exercise(NO_FAULT, quiet_s)]
            warm_mb = _recent_mb(samples)
            for fault, load_s, lasts_s in schedule(possible(faults, deployment, console), seconds, rng):
                outcomes.append(harness.exercise(fault, load_s, lasts_s))
                broken = [*outcomes[-1].violations, *outcomes[-1].delays]
                console.print(f"{fault.name}: {'; '.join(broken) or 'nothing lost'}", markup=False)
            outcomes.append(harness.exercise(NO_FAULT, quiet_s))
            return outcomes, {"memory_after_warm_up_mb": warm_mb, "memory_at_the_end_mb": _recent_mb(samples)}


def _recent_mb(samples: Sequence[tuple[float, float]]) -> float:
    since = time.monotonic() - MEASURED_S
    return fmean(mb for at, mb in samples if at > since)


def report(outcomes: Sequence[FaultOutcome]) -> list[dict[str, Any]]:
    """A row per fault, summed over its repetitions, and a row for all."""
    names = [*dict.fromkeys(each.fault.name for each in outcomes)]
    groups = {name: [each.row() for each in outcomes if each.fault.name == name] for name in names}
    groups["all together"] = [each.row() for each in outcomes]
    return [{"fault": name, "times": len(rows)} | _combined(rows) for name, rows in groups.items()]


def _combined(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        column: (max if column.startswith("slowest") else sum)(row[column] for row in rows)
        for column in rows[0]
        if column != "fault"
    }


def by_kind(outcomes: Sequence[FaultOutcome]) -> list[dict[str, Any]]:
    """A row per kind of request, with the reasons of failures."""
    sent: Counter[str] = sum((outcome.log.sent for outcome in outcomes), Counter())
    failed: Counter[tuple[str, str]] = sum((outcome.log.failed for outcome in outcomes), Counter())
    rows = []
    for kind, count in sent.items():
        reasons = {why: n for (each, why), n in sorted(failed.items()) if each == kind}
        why = ", ".join(f"{n} x {each}" for each, n in reasons.items())
        rows.append({"request": kind, "sent": count, "answered": count - sum(reasons.values()), "failed": why})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="duration of the faults")
    parser.add_argument("--quiet", type=float, default=QUIET_S, help="seconds without faults, before and after")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choices")
    parser.add_argument("--only", help="inject only the fault of this name")
    parser.add_argument("--stateless", action="store_true", help="replicas without copies, and faults of Milvus")
    options = parser.parse_args(arguments)
    console = wide_console()
    all_faults = STATELESS_FAULTS if options.stateless else FAULTS
    faults = [fault for fault in all_faults if options.only in (None, fault.name)]
    if not faults:
        parser.error(f"--only is one of {', '.join(repr(fault.name) for fault in all_faults)}")
    outcomes, memory = run(faults, options.seconds, options.seed, options.quiet, console, stateless=options.stateless)
    tables: list[list[dict[str, Any]]] = [by_kind(outcomes), report(outcomes), [memory]]
    broken = [f"{each.fault.name}: {what}" for each in outcomes for what in (*each.violations, *each.delays)]
    if memory["memory_at_the_end_mb"] > GROWTH * memory["memory_after_warm_up_mb"]:
        broken.append(f"memory grew by more than {GROWTH - 1:.0%}")
    conclude("stateless_faults" if options.stateless else "faults", tables, tables, broken)


if __name__ == "__main__":
    main()
