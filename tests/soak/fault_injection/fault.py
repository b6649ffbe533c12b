"""A fault, and the context in which it is injected."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from tests.soak.traffic.audit import Audit
from tests.soak.traffic.request_log import READS
from tests.soak.traffic.target import Target
from tests.soak.traffic.traffic import Traffic
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment
from tests.support.waiting import until

READS_DURING = 40  # least number of reads that a fault meets


class Violation(AssertionError):
    """The service broke a guarantee."""


@dataclass(frozen=True, slots=True)
class FaultContext:
    """A deployment under load, and the least duration of the fault, which also lasts for some reads."""

    deployment: Deployment
    target: Target
    traffic: Traffic
    audit: Audit
    rng: random.Random
    lasts_s: float

    def some_replica(self) -> Service:
        return self.rng.choice(self.deployment.replicas)

    def lasting(self) -> Callable[[], bool]:
        """Begin the duration of the fault; returns whether it still lasts."""
        log = self.target.log
        reads = log.total(READS) + READS_DURING
        end = time.monotonic() + self.lasts_s  # of a long run; there is no verdict on it
        return lambda: log.total(READS) < reads or time.monotonic() < end

    def wait(self) -> None:
        lasting = self.lasting()
        until(lambda: not lasting(), f"{READS_DURING} reads during the fault")


Inject: TypeAlias = Callable[[FaultContext], None]
Act: TypeAlias = Callable[[Deployment], object]


def together(*injections: Inject) -> Inject:

    def inject(context: FaultContext) -> None:
        with ThreadPoolExecutor(len(injections)) as pool:
            list(pool.map(lambda each: each(context), injections))

    return inject


def outage(begin: Act, end: Act, meanwhile: Inject = FaultContext.wait) -> Inject:
    """Begin an outage of a server, end it after `meanwhile`, and wait until the replicas lack nothing."""

    def inject(context: FaultContext) -> None:
        begin(context.deployment)
        try:
            meanwhile(context)
        finally:
            end(context.deployment)
        context.deployment.await_health()

    return inject


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and its permitted effects.

    Attributes:
        inject: injects the fault and repairs it.
        lasts_s: duration in a long run.
        readers_may_see: permitted reasons of failed reads, as status and code; after a kind of request for that kind.
        writers_may_see: permitted reasons of failed writes.
        reads_within_s: maximum duration of a read, successful or not.
        writes_within_s: maximum duration of a write, successful or not.
        may_miss: whether searches may lack documents while it lasts, as those of an index that lost them.
        lacks: what a deployment needs for this fault and does not have.
    """

    name: str
    inject: Inject
    lasts_s: float = 0.0
    readers_may_see: frozenset[str] = frozenset()
    writers_may_see: frozenset[str] = frozenset()
    reads_within_s: float = math.inf
    writes_within_s: float = math.inf
    may_miss: bool = False
    lacks: Callable[[Deployment], str | None] = lambda _: None
