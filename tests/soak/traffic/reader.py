"""Client that searches, compares texts and reads documents."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import httpx2

from tests.soak.traffic.names import ALIASES
from tests.soak.traffic.request_log import PairAnswer, SearchAnswer, failure_of, new_client
from tests.soak.traffic.target import Target

ALL = 1000  # hits; more than there are documents
PAUSE_S = 0.02
BY_ALIAS = "search by alias"
WEIGHTS = {
    "search": 8,
    "search all": 1,
    "search after": 3,
    "search forms": 4,
    BY_ALIAS: 2,
    "similarity": 3,
    "explain": 2,
    "get": 3,
    "list": 2,
    "duplicates": 1,
}
NO_ALIAS = BY_ALIAS, "404 unknown_collection"  # it was deleted
REFUSED_BY_STATELESS = frozenset({"search forms", "list", "duplicates"})  # by replicas that keep no copy
TERMS: Mapping[str, Any] = {"mode": "hybrid", "highlight": True, "facets": [{"field": "number"}], "passages": 2}
FORMS: Sequence[Mapping[str, Any]] = (
    TERMS,
    TERMS,
    {"mode": "lexical"},
    {"mode": "auto", "measure": "rcmd1", "passages": 3},
    {"filter": {"number": {"gte": 50}}, "group_by": "number", "diversity": 0.5},
)
SIMILAR = 0.95  # least cosine of duplicates
ROUNDING = 1e-6  # of sums


class Reader:
    """Sends requests, with a pause in between, until `stop` is set, and records the answers."""

    def __init__(self, target: Target, stop: threading.Event, seed: int, pause_s: float = PAUSE_S) -> None:
        self._target = target
        self._ledger, self._log = target.ledger, target.log
        self._stop = stop
        self._pause_s = pause_s
        self._rng = random.Random(seed)
        self._requests: dict[str, Callable[[httpx2.Client], httpx2.Response]] = {
            "search": lambda http: self._search(http, 10),
            "search all": lambda http: self._search(http, ALL),
            "search after": lambda http: self._search(http, 10, self._ledger.latest),
            "search forms": self._search_forms,
            BY_ALIAS: self._search_by_alias,
            "similarity": self._similarity,
            "explain": self._explain,
            "get": self._get,
            "list": self._list,
            "duplicates": self._duplicates,
        }

    def run(self, weights: Mapping[str, int]) -> None:
        with new_client(self._target.url) as http:
            while not self._stop.wait(self._pause_s):
                [kind] = self._rng.choices([*weights], [*weights.values()])
                self._log.send(kind, partial(self._failure, kind, http))

    def _failure(self, kind: str, http: httpx2.Client) -> str | None:
        failure = failure_of(self._requests[kind](http))
        return None if (kind, failure) == NO_ALIAS else failure

    def _text(self) -> str:
        return self._target.text(self._rng)

    def _search(self, http: httpx2.Client, k: int, after: str | None = None) -> httpx2.Response:
        query = self._text()
        body = {"query": query, "collection": self._target.collection, "k": k, "min_version": after}
        known = self._ledger.latest
        answer = http.post("/search", json=body)
        if answer.is_success:
            found = search_answer(query, answer.json(), complete=k == ALL, after=after, known=known)
            self._log.searches.append(found)
        return answer

    def _search_forms(self, http: httpx2.Client) -> httpx2.Response:
        query, form = self._text(), self._rng.choice(FORMS)
        answer = http.post("/search", json={"query": query, "collection": self._target.collection, **form})
        if answer.is_success and form is TERMS:
            self._log.searches.append(search_answer(query, answer.json(), complete=False))
            self._log.violations += sum_faults(answer.json())
        elif answer.is_success:
            self._require_distinct(hits_of(answer.json()), form)
        return answer

    def _search_by_alias(self, http: httpx2.Client) -> httpx2.Response:
        query, alias = self._text(), self._rng.choice(ALIASES)
        answer = http.post("/search", json={"query": query, "collection": alias})
        if answer.is_success and hits_of(answer.json()):  # none is of the other collection
            self._log.searches.append(search_answer(query, answer.json(), complete=False))
        return answer

    def _list(self, http: httpx2.Client) -> httpx2.Response:
        body = {"sort": {"field": "number"}, "offset": self._rng.randrange(100), "limit": 20}
        answer = http.post(f"/collections/{self._target.collection}/list", json=body)
        if answer.is_success:
            self._log.documents.extend((each["id"], each["text"]) for each in answer.json()["documents"])
        return answer

    def _duplicates(self, http: httpx2.Client) -> httpx2.Response:
        body = {"min_score": SIMILAR, "limit": 100}
        answer = http.post(f"/collections/{self._target.collection}/duplicates", json=body)
        if answer.is_success:
            for group in answer.json()["groups"]:
                self._require_distinct(group["documents"], "duplicates")
                self._log.documents.extend((each["id"], each["text"]) for each in group["documents"])
        return answer

    def _require_distinct(self, documents: Sequence[Any], asked: object) -> None:
        ids = [each["id"] for each in documents]
        if len(set(ids)) < len(ids):
            self._log.violations.append(f"{asked}: a document twice in {ids}")

    def _similarity(self, http: httpx2.Client) -> httpx2.Response:
        pairs = [{"a": self._text(), "b": self._text()} for _ in range(3)]
        answer = http.post("/similarity", json={"pairs": pairs})
        if answer.is_success:
            result = answer.json()
            self._log.pairs.extend(
                PairAnswer(pair["a"], pair["b"], result["space"], score, score)
                for pair, score in zip(pairs, result["scores"], strict=True)
            )
        return answer

    def _explain(self, http: httpx2.Client) -> httpx2.Response:
        body = {"a": self._text(), "b": self._text(), "measure": "cosine"}  # which the checks compute
        answer = http.post("/explain", json=body)
        if answer.is_success:
            result = answer.json()
            links = (link["contribution"] for link in result["links"])
            parts = math.fsum([*links, result["special"], result["omitted"]])
            self._log.pairs.append(PairAnswer(body["a"], body["b"], result["space"], result["score"], parts))
        return answer

    def _get(self, http: httpx2.Client) -> httpx2.Response:
        doc_id = self._rng.choice(self._ledger.ids_of(self._ledger.epoch) or ["no-such-document"])
        answer = http.get(f"/collections/{self._target.collection}/documents/{doc_id}")
        if answer.is_success:
            self._log.documents.append((doc_id, answer.json()["text"]))
        return answer


def hits_of(body: Any) -> Any:
    [result] = body["results"]
    return result["hits"]


def sum_faults(body: Any) -> list[str]:
    """Hits of a hybrid search with highlights whose parts do not sum to their scores."""
    return [
        f"the parts of {hit} do not sum"
        for hit in hits_of(body)
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
    hits = [(hit["id"], hit["text"], hit["score"]) for hit in hits_of(body)]
    return SearchAnswer(query, body["version"], body["space"], hits, complete, after, known)
