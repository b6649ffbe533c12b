"""Inject faults into a deployment with one collection under load, one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.soak.fault_injection.fault import Fault, FaultContext
from tests.soak.traffic.audit import Audit
from tests.soak.traffic.checks import Checks, Findings, Oracle
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.names import EMPTY, Names
from tests.soak.traffic.reader import PAUSE_S, REFUSED_BY_STATELESS, WEIGHTS
from tests.soak.traffic.request_log import READS, WRITES, RequestLog
from tests.soak.traffic.target import Target
from tests.soak.traffic.traffic import Traffic
from tests.support.servers.deployment import Deployment
from tests.support.waiting import CEILING_S, until

COLLECTION = "faults"
READS_BEFORE, READS_AFTER = 10, 40  # least numbers, before the fault begins and when it is over
ACKNOWLEDGED_AFTER = 10  # least number of writes, likewise; they store all documents again that are missing
SPARING_PAUSE_S = 0.1  # of readers, where numbers of requests end the load: others take the time of starting replicas
NO_FAULT = Fault("none", lambda _: None)


@dataclass(frozen=True, slots=True)
class FaultOutcome:
    """Requests during one fault, and what the checks found."""

    fault: Fault
    seconds: float
    log: RequestLog
    findings: Findings

    @property
    def violations(self) -> list[str]:
        return [
            *self._unexpected("reads", READS, self.fault.readers_may_see),
            *self._unexpected("writes", WRITES, self.fault.writers_may_see),
            *(f"{count} x {kind}" for kind, count in self.findings.faults.items()),
            *self.log.violations,
            *self.findings.examples,
        ]

    @property
    def delays(self) -> list[str]:
        """Requests that took longer than they may; only an idle machine can tell."""
        limits = [("read", READS, self.fault.reads_within_s), ("write", WRITES, self.fault.writes_within_s)]
        return [
            f"a {what} took {slowest:.1f} s, more than {limit_s:g}"
            for what, kinds, limit_s in limits
            if (slowest := self.log.slowest(kinds)) > limit_s
        ]

    def _unexpected(self, what: str, kinds: tuple[str, ...], allowed: frozenset[str]) -> Iterator[str]:
        for (kind, reason), count in sorted(self.log.failed.items()):
            if kind in kinds and not allowed & {reason, f"{kind}: {reason}"}:
                yield f"{count} {what} failed: {kind}: {reason}"

    def row(self) -> dict[str, Any]:
        return {
            "fault": self.fault.name,
            "seconds": round(self.seconds, 1),
            "reads": self.log.total(READS),
            "reads_failed": sum(self.log.failures(READS).values()),
            "slowest_read_s": round(self.log.slowest(READS), 2),
            "writes": self.log.total(WRITES),
            "not_acknowledged": sum(self.log.failures(WRITES).values()),
            "of_them_stored": self.log.stored_unanswered,
            "slowest_write_s": round(self.log.slowest(WRITES), 2),
            "missing": self.findings.faults["missing"],
            "deleted_seen": self.findings.faults["deleted seen"],
            "stale": self.findings.faults["stale"],
            "wrong_scores": self.findings.faults["wrong score"],
        }


class FaultHarness:
    """Keeps the state of a running deployment from one fault to the next."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self.deployment = deployment
        self._rng = random.Random(seed)
        self._ledger = Ledger()
        self._names = Names()
        self._oracle = Oracle(deployment.models)

    def fill(self) -> None:
        """Create the collections, and let writers store their documents."""
        httpx2.put(f"{self.deployment.url}/collections/{EMPTY}", timeout=CEILING_S).raise_for_status()
        answer = httpx2.put(f"{self.deployment.url}/collections/{COLLECTION}", timeout=CEILING_S)
        self._ledger.begin(answer.raise_for_status().json()["version"], {})
        outcome = self.exercise(NO_FAULT)
        assert outcome.violations == [], "without any fault"

    def exercise(self, fault: Fault, seconds: float = 0.0, lasts_s: float = 0.0) -> FaultOutcome:
        """Run a mixed load, inject a fault during it, and check all answers afterwards.

        Numbers of requests tell how long, or `seconds` of load and `lasts_s` of the fault if these are longer.
        """
        self.deployment.restart_stopped()
        start = time.monotonic()
        stateless = self.deployment.stateless
        weights = {kind: weight for kind, weight in WEIGHTS.items() if not (stateless and kind in REFUSED_BY_STATELESS)}
        target = Target(self.deployment.url, COLLECTION, self._ledger, names=self._names)
        audit, log = Audit(self.deployment, target, self._rng.getrandbits(32)), target.log
        pause_s = PAUSE_S if seconds else SPARING_PAUSE_S
        with Traffic(target, self._rng.getrandbits(32), weights, pause_s=pause_s) as traffic:
            until(lambda: log.total(READS) >= READS_BEFORE, "reads before the fault")
            try:
                fault.inject(FaultContext(self.deployment, target, traffic, audit, self._rng, lasts_s))
            except AssertionError as error:  # what the fault expects of the deployment
                log.violations.append(str(error))
            self._await_requests(log)
            time.sleep(max(0.0, start + seconds - time.monotonic()))  # of a long run; there is no verdict on it
        duration_s = time.monotonic() - start
        audit.settle()
        checks = Checks(self._ledger, self._oracle, stateless=stateless)
        checks.check_log(log, may_miss=fault.may_miss)
        audit.check_replicas(checks)
        return FaultOutcome(fault, duration_s, log, checks.findings)

    def _await_requests(self, log: RequestLog) -> None:
        reads, acknowledged = log.total(READS) + READS_AFTER, log.succeeded(WRITES) + ACKNOWLEDGED_AFTER
        until(lambda: log.total(READS) >= reads and log.succeeded(WRITES) >= acknowledged, "requests after the fault")
