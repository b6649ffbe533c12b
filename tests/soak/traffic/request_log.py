"""Log of requests: counts, failures, and the answers to check."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2

SEARCHES = ("search", "search all", "search after", "search forms", "search by alias")
READS = (*SEARCHES, "similarity", "explain", "get", "list", "duplicates")
DOCUMENT_WRITES = ("upsert", "upsert lines", "metadata", "delete", "delete many")
WRITES = (*DOCUMENT_WRITES, "alias", "glossary")
CUT_OFF = "cut off"
TIMEOUT_S = 120.0  # only ends a hang: every limit of the service is smaller


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """A search and its hits (id, text, score).

    Attributes:
        complete: whether it asked for all documents.
        after: version that was demanded.
        known: version of a write that was acknowledged before it was sent.
    """

    query: str
    version: str
    space: str
    hits: list[tuple[str, str, float]]
    complete: bool
    after: str | None = None
    known: str | None = None


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """Two texts and their score; `sum` is the sum of the parts of its explanation."""

    a: str
    b: str
    space: str
    score: float
    sum: float


@dataclass(slots=True)
class RequestLog:
    """Requests by kind, and answers that are not checked yet."""

    sent: Counter[str] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and reason
    slowest_s: dict[str, float] = field(default_factory=dict)
    searches: list[SearchAnswer] = field(default_factory=list)
    pairs: list[PairAnswer] = field(default_factory=list)
    documents: list[tuple[str, str]] = field(default_factory=list)  # id and text
    violations: list[str] = field(default_factory=list)  # permitted by no fault
    stored_unanswered: int = 0  # documents stored by writes that were cut off or refused
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, kind: str, send: Callable[[], str | None]) -> bool:
        """Send a request, which returns why it failed, and count it; returns whether it succeeded."""
        start = time.monotonic()
        try:
            failure = send()
        except httpx2.HTTPError as error:
            failure = "no answer in time" if isinstance(error, httpx2.TimeoutException) else CUT_OFF
        with self._lock:
            self.sent[kind] += 1
            self.slowest_s[kind] = max(self.slowest_s.get(kind, 0.0), time.monotonic() - start)
            if failure is not None:
                self.failed[kind, failure] += 1
        return failure is None

    def failures(self, kinds: tuple[str, ...]) -> Counter[str]:
        """Number of failed requests of these kinds, by reason."""
        counts: Counter[str] = Counter()
        with self._lock:
            for (kind, reason), count in self.failed.items():
                if kind in kinds:
                    counts[reason] += count
        return counts

    def slowest(self, kinds: tuple[str, ...]) -> float:
        return max(self.slowest_s.get(kind, 0.0) for kind in kinds)

    def total(self, kinds: tuple[str, ...]) -> int:
        return sum(self.sent[kind] for kind in kinds)

    def succeeded(self, kinds: tuple[str, ...]) -> int:
        return self.total(kinds) - self.failures(kinds).total()


def new_client(url: str) -> httpx2.Client:
    """A client with a key of its own, to which the load balancer gives its own rate limit."""
    return httpx2.Client(base_url=url, timeout=TIMEOUT_S, headers={"authorization": f"Bearer {uuid.uuid4().hex}"})


def failure_of(answer: httpx2.Response) -> str | None:
    """Status and code of a failed request; `unknown_document` is no failure."""
    if answer.is_success:
        return None
    try:
        body: Any = answer.json()
        code = str(body["code"])
    except (ValueError, KeyError, TypeError):
        code = "from the proxy"
    return None if code == "unknown_document" else f"{answer.status_code} {code}"
