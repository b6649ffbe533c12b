"""Client that searches, compares texts and reads documents."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2

from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.request_log import (
    PairAnswer,
    RequestLog,
    SearchAnswer,
    client_headers,
    failure_of,
    transport_failure,
)
from tests.support.servers.word_models import sentence

ALL = 1000  # hits; more than there are documents
TIMEOUT_S = 120.0  # only ends a hang: every limit of the deployment is smaller
PAUSE_S = 0.02
WEIGHTS = {
    "search": 8,
    "search all": 1,
    "search after": 3,
    "search terms": 4,
    "similarity": 3,
    "explain": 2,
    "get": 3,
    "list": 2,
    "duplicates": 1,
}
REFUSED_BY_THIN = frozenset({"search terms", "list", "duplicates"})  # by replicas that keep no copy
TERMS = {"mode": "hybrid", "highlight": True, "facets": [{"field": "number"}], "passages": 2}
SIMILAR = 0.95  # least cosine of duplicates
ROUNDING = 1e-6  # of sums


class Reader:
    """Sends one request after the other until `stop` is set, and records the answers."""

    def __init__(
        self, url: str, collection: str, ledger: Ledger, log: RequestLog, stop: threading.Event, seed: int
    ) -> None:
        self._url = url
        self._collection = collection
        self._ledger = ledger
        self._log = log
        self._stop = stop
        self._rng = random.Random(seed)
        self._requests: dict[str, Callable[[httpx2.Client], httpx2.Response]] = {
            "search": lambda http: self._search(http, 10),
            "search all": lambda http: self._search(http, ALL),
            "search after": lambda http: self._search(http, 10, self._ledger.latest),
            "search terms": self._search_terms,
            "similarity": self._similarity,
            "explain": self._explain,
            "get": self._get,
            "list": self._list,
            "duplicates": self._duplicates,
        }

    def run(self, weights: Mapping[str, int]) -> None:
        """Send requests of these kinds until `stop` is set."""
        with httpx2.Client(base_url=self._url, timeout=TIMEOUT_S, headers=client_headers()) as http:
            while not self._stop.wait(PAUSE_S):
                [kind] = self._rng.choices([*weights], [*weights.values()])
                self._send(kind, http)

    def _send(self, kind: str, http: httpx2.Client) -> None:
        start = time.monotonic()
        try:
            failure = failure_of(self._requests[kind](http))
        except httpx2.HTTPError as error:
            failure = transport_failure(error)
        self._log.count(kind, start, failure)

    def _search(self, http: httpx2.Client, k: int, after: str | None = None) -> httpx2.Response:
        query = sentence(self._rng)
        body = {"query": query, "collection": self._collection, "k": k, "min_version": after}
        known = self._ledger.latest
        answer = http.post("/search", json=body)
        if answer.is_success:
            found = search_answer(query, answer.json(), complete=k == ALL, after=after, known=known)
            self._log.searches.append(found)
        return answer

    def _search_terms(self, http: httpx2.Client) -> httpx2.Response:
        query = sentence(self._rng)
        answer = http.post("/search", json={"query": query, "collection": self._collection, **TERMS})
        if answer.is_success:
            self._log.searches.append(search_answer(query, answer.json(), complete=False))
            self._log.violations += sum_faults(answer.json())
        return answer

    def _list(self, http: httpx2.Client) -> httpx2.Response:
        body = {"sort": {"field": "number"}, "offset": self._rng.randrange(100), "limit": 20}
        answer = http.post(f"/collections/{self._collection}/list", json=body)
        if answer.is_success:
            self._log.documents.extend((each["id"], each["text"]) for each in answer.json()["documents"])
        return answer

    def _duplicates(self, http: httpx2.Client) -> httpx2.Response:
        body = {"min_score": SIMILAR, "limit": 100}
        answer = http.post(f"/collections/{self._collection}/duplicates", json=body)
        if answer.is_success:
            groups = [each["documents"] for each in answer.json()["groups"]]
            self._log.documents.extend((each["id"], each["text"]) for group in groups for each in group)
        return answer

    def _similarity(self, http: httpx2.Client) -> httpx2.Response:
        pairs = [{"a": sentence(self._rng), "b": sentence(self._rng)} for _ in range(3)]
        answer = http.post("/similarity", json={"pairs": pairs})
        if answer.is_success:
            result = answer.json()
            self._log.pairs.extend(
                PairAnswer(pair["a"], pair["b"], result["space"], score, score)
                for pair, score in zip(pairs, result["scores"], strict=True)
            )
        return answer

    def _explain(self, http: httpx2.Client) -> httpx2.Response:
        body = {"a": sentence(self._rng), "b": sentence(self._rng), "measure": "cosine"}  # which the checks compute
        answer = http.post("/explain", json=body)
        if answer.is_success:
            result = answer.json()
            parts = math.fsum(
                [*(link["contribution"] for link in result["links"]), result["special"], result["omitted"]]
            )
            self._log.pairs.append(PairAnswer(body["a"], body["b"], result["space"], result["score"], parts))
        return answer

    def _get(self, http: httpx2.Client) -> httpx2.Response:
        doc_id = self._rng.choice(self._ledger.ids_of(self._ledger.epoch) or ["no-such-document"])
        answer = http.get(f"/collections/{self._collection}/documents/{doc_id}")
        if answer.is_success:
            self._log.documents.append((doc_id, answer.json()["text"]))
        return answer


def sum_faults(body: Any) -> list[str]:
    """Hits of a hybrid search with highlights whose parts do not sum to their scores."""
    return [
        f"the parts of {hit} do not sum"
        for result in body["results"]
        for hit in result["hits"]
        for whole, parts in _sums(hit)
        if abs(whole - math.fsum(parts)) > ROUNDING
    ]


def _sums(hit: Any) -> Iterator[tuple[float, list[float]]]:
    """Each sum of a hit, and its parts."""
    shown, lexical = hit["highlight"], hit["lexical"]
    yield shown["score"], [*(each["contribution"] for each in shown["marks"]), shown["rest"], shown["special"]]
    if lexical is not None:
        yield lexical["combined"], [hit["score"], lexical["bonus"]]
        yield lexical["bonus"], [each["bonus"] for each in lexical["terms"]]


def search_answer(
    query: str, body: Any, *, complete: bool, after: str | None = None, known: str | None = None
) -> SearchAnswer:
    """The checked parts of an answer to /search."""
    [result] = body["results"]
    hits = [(hit["id"], hit["text"], hit["score"]) for hit in result["hits"]]
    return SearchAnswer(query, body["version"], body["space"], hits, complete, after, known)
