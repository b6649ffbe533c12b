"""The task that every client is given: rank three documents or a thousand, and embed them.

tests/integration/test_clients.py starts the service, with a key, and says where it is.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.support.waiting import until

URL = os.environ["SEMBLANCE_URL"]
KEY = os.environ["SEMBLANCE_KEY"]
MODEL = "minilm-graded"
UNKNOWN_MODEL = "rerank-english-v3.0"
QUERY = "my parcel never came 🙂"
DOCUMENTS = [
    "Return shoes within 30 days of delivery.",
    "🙂 naïve café: track a shipment with its number if your package did not arrive.",
    "Gift cards cannot be exchanged for cash.",
]
ORDER = [1, 0, 2]  # of the documents, best first
BEST = ORDER[0]
# the end of 1,500 characters, beyond the 256 tokens that the model reads at once, answers the query
LONG = "Gift cards cannot be exchanged. " * 45 + "My parcel never came, though I sent the shoes back in time 🙂"
THOUSAND = [str(i) for i in range(999)] + [DOCUMENTS[BEST]]
ATTEMPTS = 8  # of clients that wait 1, 2, 4, ... seconds, whatever `retry-after` says; 3 are few on a slow machine
BUSY_TEXTS = 500  # of a call while the queue is full; the last one answers the query
BUSY_TOKENS = 2_000  # of the 4,000 that the queue takes: beside these, the texts of a call must be refused
LOADS, LOAD_TEXTS = 4, 3  # requests at the same time that fill the queue, and texts of 256 tokens in each


def check_ranking(rank: Callable[[list[str], int], list[int]], *, long: bool = True) -> None:
    """Check `rank(documents, top_n)`, the indices of documents, best first.

    A `top_n` above the number of documents returns all; a thousand documents are one call. If `long`, the end of a
    document of 1,500 characters is read.
    """
    assert rank(DOCUMENTS, 2) == ORDER[:2]
    assert rank(DOCUMENTS, 100) == ORDER
    assert not long or rank([DOCUMENTS[0], LONG], 2) == [1, 0]
    many = rank(THOUSAND, 1000)
    assert sorted(many) == list(range(1000))
    assert many[0] == 999


def check_vectors(embed: Callable[[list[str]], Sequence[Sequence[float]]], *, last: str = " ") -> None:
    """Check that `embed(texts)` returns the vectors of POST /v1/embeddings, of a thousand texts, too.

    The last text is a blank one, unless the client sends that as an empty text.
    """
    texts = [QUERY, *DOCUMENTS, last]
    with service() as http:
        answer = http.post("/v1/embeddings", json={"model": MODEL, "input": texts}).raise_for_status().json()
        cosines = http.post("/similarity", json={"model": MODEL, "left": [QUERY], "right": DOCUMENTS}).json()["scores"]
    vectors = embed(texts)
    for found, each in zip(vectors, answer["data"], strict=True):
        assert len(found) == 384
        assert math.dist(found, each["embedding"]) < 1e-5
        assert math.hypot(*found) == pytest.approx(1, abs=1e-5)
    assert [1 - math.dist(vectors[0], each) ** 2 / 2 for each in vectors[1:-1]] == pytest.approx(cosines[0], abs=1e-4)
    many = embed(THOUSAND)
    assert len(many) == 1000
    assert math.dist(many[-1], embed([DOCUMENTS[BEST]])[0]) < 1e-4


def check_long_text(embed: Callable[[list[str]], Sequence[Sequence[float]]], *, truncated: bool = False) -> None:
    """Check that `embed(texts)` reads all of a text of 1,500 characters, or only its beginning if it is truncated."""
    with service() as http:
        request = {"model": MODEL, "input": LONG, "truncate": "END"}
        beginning = http.post("/v1/embeddings", json=request).raise_for_status().json()["data"][0]["embedding"]
    [found] = embed([LONG])
    distance = math.dist(found, beginning)
    assert distance < 1e-5 if truncated else distance > 0.01, distance


@dataclass(frozen=True)
class BusyCall:
    """A call that began while the queue of the service was full, and was refused with 429 at least once.

    Attributes:
        result: what it returned, or the exception that it raised.
    """

    result: Any

    def check_retried(self) -> Any:
        """The result of a call that succeeded after it was refused."""
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def call_while_busy(call: Callable[[list[str]], Any]) -> BusyCall:
    """Call with new texts while the queue has no room for them.

    Others keep the queue full until the service refuses a call. Repeated if it refused one of theirs.
    """
    with service() as http:
        while (made := _refused_call(call, Load(http))) is None:
            pass  # the timeout of the test ends it
        return made


def _refused_call(call: Callable[[list[str]], Any], load: Load) -> BusyCall | None:
    """Call beside a load; None if the call was not refused."""
    number = secrets.randbelow(900) + 100  # so that the service has cached few of the texts
    texts = [f"{number} {i}" for i in range(BUSY_TEXTS - 1)] + [DOCUMENTS[BEST]]
    result: Any
    with load.running():
        try:
            result = call(texts)
        except Exception as error:  # noqa: BLE001 - whatever the client raises is the result
            result = error
    return BusyCall(result) if load.others_were_refused() else None


@dataclass
class Load:
    """Requests that keep the queue full, until any call is refused."""

    http: httpx2.Client
    _ended: threading.Event = field(default_factory=threading.Event)
    _refused: int = 0  # of these requests

    def __post_init__(self) -> None:
        self._before = self._refusals()

    @contextmanager
    def running(self) -> Iterator[None]:
        """The queue is full when the block begins, and empty after its end."""
        with ThreadPoolExecutor(LOADS) as pool:
            made = [pool.submit(self._send) for _ in range(LOADS)]
            try:
                until(lambda: _metric(self.http, 'queued_tokens{urgency="interactive"}') >= BUSY_TOKENS, "a full queue")
                yield
            finally:
                self._ended.set()
            self._refused = sum(each.result() for each in made)

    def others_were_refused(self) -> bool:
        return self._refusals() - self._before > self._refused

    def _send(self) -> bool:
        """Send requests until any call is refused; whether it was one of these."""
        while not self._ended.is_set() and self._refusals() == self._before:
            texts = [f"{secrets.token_hex(4)} {'word ' * 256}" for _ in range(LOAD_TEXTS)]  # truncated to 256 tokens
            if self.http.post("/embed", json={"inputs": texts}).status_code == 429:
                return True
        return False

    def _refusals(self) -> float:
        return _metric(self.http, 'errors_total{code="overloaded"}')


def service() -> httpx2.Client:
    """A plain client, to prepare the service and to compare with."""
    return httpx2.Client(base_url=URL, headers={"authorization": f"Bearer {KEY}"}, timeout=600)


def _metric(http: httpx2.Client, series: str) -> float:
    match = re.search(rf"^semblance_{re.escape(series)} (\S+)$", http.get("/metrics").text, re.MULTILINE)
    assert match is not None, series
    return float(match[1])
