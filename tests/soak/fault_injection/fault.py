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
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.traffic import Traffic
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment


class Violation(Exception):
    """The service broke a guarantee."""


@dataclass(frozen=True, slots=True)
class FaultContext:
    """A deployment under load, and the duration of the fault."""

    deployment: Deployment
    collection: str
    ledger: Ledger
    traffic: Traffic
    audit: Audit
    rng: random.Random
    lasts_s: float

    def some_replica(self) -> Service:
        """A random replica."""
        return self.rng.choice(self.deployment.replicas)

    def settle(self) -> None:
        """Find out what unanswered writes did; no writer may be running."""
        self.audit.settle(self.traffic.log)

    def wait(self) -> None:
        """Wait for the duration of the fault."""
        time.sleep(self.lasts_s)


Inject: TypeAlias = Callable[[FaultContext], None]


def together(*injections: Inject) -> Inject:
    """All of these faults at once."""

    def inject(context: FaultContext) -> None:
        with ThreadPoolExecutor(len(injections)) as pool:
            list(pool.map(lambda each: each(context), injections))

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
