"""A deployment with one collection, on which faults are tried one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.soak.injected.fault import Broken, Fault, Scene
from tests.soak.traffic.audit import Audit
from tests.soak.traffic.checks import Checks, Findings
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.oracle import Oracle
from tests.soak.traffic.tally import READS, WRITES, Tally
from tests.soak.traffic.traffic import Traffic
from tests.support.servers.deployment import Deployment, Unhealthy

COLLECTION = "faults"
BEFORE_S = 0.5  # of load before the fault begins
NONE = Fault("none", lambda _: None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fault came to."""

    fault: Fault
    seconds: float
    tally: Tally
    findings: Findings

    @property
    def broken(self) -> list[str]:
        """What the service promises and did not keep; empty if all is well."""
        failed = [
            *self._unexpected("reads", READS, self.fault.readers_may_see),
            *self._unexpected("writes", WRITES, self.fault.writers_may_see),
        ]
        if (slowest := self.tally.slowest(WRITES)) > self.fault.writes_within_s:
            failed.append(f"a write took {slowest:.1f} s, more than {self.fault.writes_within_s:g}")
        found = [f"{count} x {kind}" for kind, count in self.findings.faults.items()]
        return [*failed, *found, *self.tally.wrong, *self.findings.examples]

    def _unexpected(self, what: str, kinds: tuple[str, ...], allowed: frozenset[str]) -> Iterator[str]:
        for why, count in self.tally.failures(kinds).items():
            if why not in allowed:
                yield f"{count} {what} failed: {why}"

    def row(self) -> dict[str, Any]:
        """The figures of one line of a table."""
        return {
            "fault": self.fault.name,
            "seconds": round(self.seconds, 1),
            "reads": self.tally.total(READS),
            "reads_failed": sum(self.tally.failures(READS).values()),
            "slowest_read_s": round(self.tally.slowest(READS), 2),
            "writes": self.tally.total(WRITES),
            "not_acknowledged": sum(self.tally.failures(WRITES).values()),
            "of_them_stored": self.tally.stored_unanswered,
            "slowest_write_s": round(self.tally.slowest(WRITES), 2),
            "missing": self.findings.faults["missing"],
            "deleted_seen": self.findings.faults["deleted seen"],
            "stale": self.findings.faults["stale"],
            "wrong_scores": self.findings.faults["wrong score"],
        }


class Stage:
    """What stays from one fault to the next.

    Args:
        deployment: it runs.
        seed: what chance decides comes from here.
    """

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self.deployment = deployment
        self._chance = random.Random(seed)
        self._ledger = Ledger()
        self._oracle = Oracle(deployment.models)
        self._audit = Audit(deployment, COLLECTION, self._ledger, self._chance.getrandbits(32))

    def fill(self) -> None:
        """Make the collection, and let writers store all their documents."""
        made = httpx2.put(f"{self.deployment.url}/collections/{COLLECTION}", timeout=60).raise_for_status().json()
        self._ledger.begin(made["version"], {})
        outcome = self.exercise(NONE, seconds=3.0)
        if outcome.broken:
            raise AssertionError(f"not even without a fault: {outcome.broken}")

    def exercise(self, fault: Fault, seconds: float, lasts_s: float = 0.0) -> Outcome:
        """A mixed load for at least so long, a fault in the midst of it, and a look at everything after it."""
        self.deployment.mend()
        began = time.monotonic()
        with Traffic(self.deployment.url, COLLECTION, self._ledger, self._chance.getrandbits(32)) as traffic:
            tally = traffic.tally
            time.sleep(BEFORE_S)
            scene = Scene(self.deployment, COLLECTION, self._ledger, traffic, self._audit, self._chance, lasts_s)
            try:
                fault.inflict(scene)
            except (Broken, Unhealthy) as error:
                tally.wrong.append(str(error))
            time.sleep(max(0.0, began + seconds - time.monotonic()))
        took = time.monotonic() - began
        self.deployment.await_health()
        self._audit.settle(tally)
        checks = Checks(self._ledger, self._oracle)
        checks.all_of(tally)
        self._audit.look(checks)
        return Outcome(fault, took, tally, checks.findings)
