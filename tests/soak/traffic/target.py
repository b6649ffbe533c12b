"""What readers and writers work on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.names import Names
from tests.soak.traffic.request_log import RequestLog
from tests.support.servers.word_models import sentence


@dataclass(frozen=True, slots=True)
class Target:
    """A collection at the URL of a service, its acknowledged writes, the requests to it, and texts for them."""

    url: str
    collection: str
    ledger: Ledger
    log: RequestLog = field(default_factory=RequestLog)
    text: Callable[[random.Random], str] = sentence
    names: Names = field(default_factory=Names)
