"""What a fault is, and what it is done to."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.soak.traffic.audit import Audit
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.traffic import Traffic
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment


class Broken(Exception):
    """The service did not keep its word."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A deployment at work, on which a fault is to last so long."""

    deployment: Deployment
    collection: str
    ledger: Ledger
    traffic: Traffic
    audit: Audit
    chance: random.Random
    lasts_s: float

    def some_replica(self) -> Service:
        """Any of them."""
        return self.chance.choice(self.deployment.replicas)

    def settle(self) -> None:
        """Know of every document what it holds; no writer may be at work."""
        self.audit.settle(self.traffic.tally)

    def wait(self) -> None:
        """Let the fault last."""
        time.sleep(self.lasts_s)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens, and what may be noticed of it.

    Attributes:
        inflict: does it, and puts right what it did.
        lasts_s: how long it lasts in earnest.
        readers_may_see: why reads may fail meanwhile, by status and code; nothing else may make one fail.
        writers_may_see: the same of writes.
        writes_within_s: how long a write may take, answered or not.
    """

    name: str
    inflict: Callable[[Scene], None]
    lasts_s: float = 0.0
    readers_may_see: frozenset[str] = frozenset()
    writers_may_see: frozenset[str] = frozenset()
    writes_within_s: float = math.inf
