"""What became of requests."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2

READS = ("search", "search all", "search after", "similarity", "explain", "get")
WRITES = ("upsert", "upsert lines", "delete")


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A search and what it found: (id, text, score) of each hit. `whole` asks for all that there is."""

    query: str
    version: str
    space: str
    hits: list[tuple[str, str, float]]
    whole: bool
    after: str | None = None


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """Two texts and their score; `sum` is what the parts of its explanation come to."""

    a: str
    b: str
    space: str
    score: float
    sum: float


@dataclass(slots=True)
class Tally:
    """Requests by kind, and the answers that are still to be checked."""

    sent: Counter[str] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and reason
    slowest_s: dict[str, float] = field(default_factory=dict)
    searches: list[SearchAnswer] = field(default_factory=list)
    pairs: list[PairAnswer] = field(default_factory=list)
    gotten: list[tuple[str, str]] = field(default_factory=list)  # id and text
    wrong: list[str] = field(default_factory=list)  # what no fault excuses
    last_failure: float = 0.0  # when it was
    stored_unanswered: int = 0  # documents of writes that were cut off or refused, and had been stored
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str, began: float, failure: str | None) -> None:
        """One request, and why it failed if it did."""
        with self._lock:
            self.sent[kind] += 1
            self.slowest_s[kind] = max(self.slowest_s.get(kind, 0.0), time.monotonic() - began)
            if failure is not None:
                self.failed[kind, failure] += 1
                self.last_failure = time.monotonic()

    def failures(self, kinds: tuple[str, ...]) -> Counter[str]:
        """Of requests of these kinds, by reason."""
        found: Counter[str] = Counter()
        for (kind, why), count in self.failed.items():
            if kind in kinds:
                found[why] += count
        return found

    def slowest(self, kinds: tuple[str, ...]) -> float:
        """Seconds of the slowest request of these kinds."""
        return max(self.slowest_s.get(kind, 0.0) for kind in kinds)

    def total(self, kinds: tuple[str, ...]) -> int:
        """Requests of these kinds."""
        return sum(self.sent[kind] for kind in kinds)


def failure_of(answer: httpx2.Response) -> str | None:
    """Status and code of a refusal; a document that is not there is an answer."""
    if answer.is_success:
        return None
    try:
        said: Any = answer.json()
        code = str(said["code"])
    except (ValueError, KeyError, TypeError):
        code = "from the proxy"
    return None if code == "unknown_document" else f"{answer.status_code} {code}"


def failure_in(error: httpx2.HTTPError) -> str:
    """What ended a request that has no answer."""
    return "no answer in time" if isinstance(error, httpx2.TimeoutException) else "cut off"
