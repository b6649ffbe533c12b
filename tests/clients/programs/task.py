"""The task that every client is given: rank three documents or a thousand, and embed them.

tests/integration/test_clients.py starts the service, with a key, and says where it is.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.support.waiting import until

URL = os.environ["SEMBLANCE_URL"]
KEY = os.environ["SEMBLANCE_KEY"]
MODEL = "minilm-words"
UNKNOWN_MODEL = "rerank-english-v3.0"
QUERY = "my parcel never came 🙂"
DOCUMENTS = [
    "Return shoes within 30 days of delivery.",
    "🙂 naïve café: track a shipment with its number if your package did not arrive.",
    "Gift cards cannot be exchanged for cash.",
]
ORDER = [1, 0, 2]  # of the documents, best first
BEST = ORDER[0]
THOUSAND = [f"Story number {i} about nothing" for i in range(999)] + [DOCUMENTS[BEST]]
ATTEMPTS = 8  # of clients that wait 1, 2, 4, ... seconds, whatever `retry-after` says; 3 are few on a slow machine
BUSY_TOKENS = 8_000  # of the 10,000 that the queue takes: beside these, a thousand texts must be refused


def check_ranking(rank: Callable[[list[str], int], list[int]]) -> None:
    """Check `rank(documents, top_n)`, the indices of documents, best first.

    A `top_n` above the number of documents returns all; a thousand documents are one call.
    """
    assert rank(DOCUMENTS, 2) == ORDER[:2]
    assert rank(DOCUMENTS, 100) == ORDER
    many = rank(THOUSAND, 1000)
    assert sorted(many) == list(range(1000))
    assert many[0] == 999


def check_vectors(embed: Callable[[list[str]], Sequence[Sequence[float]]]) -> None:
    """Check that `embed(texts)` returns the vectors of POST /v1/embeddings, of a thousand texts, too."""
    texts = [QUERY, *DOCUMENTS]
    with service() as http:
        answer = http.post("/v1/embeddings", json={"model": MODEL, "input": texts}).raise_for_status().json()
    for found, each in zip(embed(texts), answer["data"], strict=True):
        assert len(found) == 384
        assert max(abs(a - b) for a, b in zip(found, each["embedding"], strict=True)) < 1e-5
    many = embed(THOUSAND)
    assert len(many) == 1000
    assert math.dist(many[-1], embed([DOCUMENTS[BEST]])[0]) < 1e-4


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
    """Call with a thousand texts, the last of which answers the query, while the queue has no room for them.

    Repeated until the service has refused the call: on some machines the queue is empty before it arrives.
    """
    with service() as http, ThreadPoolExecutor(1) as pool:
        while (made := _refused_call(call, http, pool)) is None:
            pass  # the timeout of the test ends it
        return made


def _refused_call(call: Callable[[list[str]], Any], http: httpx2.Client, pool: ThreadPoolExecutor) -> BusyCall | None:
    """Fill the queue, and call; None if the call was not refused."""
    number = secrets.token_hex(4)  # so that the service has cached none of the texts
    texts = [f"Story {number} {i}" for i in range(999)] + [DOCUMENTS[BEST]]
    long = [f"{number} {i} {'word ' * 256}" for i in range(38)]  # of 256 tokens, after which they are truncated
    load = pool.submit(http.post, "/embed", json={"inputs": long})
    until(lambda: load.done() or _metric(http, 'queued_tokens{urgency="interactive"}') >= BUSY_TOKENS, "a full queue")
    before = _metric(http, 'errors_total{code="overloaded"}')
    result: Any
    try:
        result = call(texts)
    except Exception as error:  # noqa: BLE001 - whatever the client raises is the result
        result = error
    assert load.result().status_code == 200
    return BusyCall(result) if _metric(http, 'errors_total{code="overloaded"}') > before else None


def service() -> httpx2.Client:
    """A plain client, to prepare the service and to compare with."""
    return httpx2.Client(base_url=URL, headers={"authorization": f"Bearer {KEY}"}, timeout=600)


def _metric(http: httpx2.Client, series: str) -> float:
    match = re.search(rf"^semblance_{re.escape(series)} (\S+)$", http.get("/metrics").text, re.MULTILINE)
    assert match is not None, series
    return float(match[1])
