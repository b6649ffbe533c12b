"""Somebody who searches, compares and looks documents up."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2

from tests.soak.traffic.caller import caller
from tests.soak.traffic.ledger import Ledger
from tests.soak.traffic.tally import PairAnswer, SearchAnswer, Tally, failure_in, failure_of
from tests.support.servers.word_models import sentence

ALL = 1000  # hits, more than there are documents
TIMEOUT_S = 45.0
PAUSE_S = 0.02
LIKELY = {"search": 8, "search all": 1, "search after": 3, "similarity": 3, "explain": 2, "get": 3}


class Reader:
    """Asks one question after the other until it is told to stop; answers are kept to be checked."""

    def __init__(
        self, url: str, collection: str, ledger: Ledger, tally: Tally, stop: threading.Event, seed: int
    ) -> None:
        self._url = url
        self._collection = collection
        self._ledger = ledger
        self._tally = tally
        self._stop = stop
        self._chance = random.Random(seed)
        self._asks: dict[str, Callable[[httpx2.Client], httpx2.Response]] = {
            "search": lambda http: self._search(http, 10),
            "search all": lambda http: self._search(http, ALL),
            "search after": lambda http: self._search(http, 10, self._ledger.latest),
            "similarity": self._similarity,
            "explain": self._explain,
            "get": self._get,
        }

    def run(self) -> None:
        """Ask until told to stop."""
        kinds, weights = [*LIKELY], [*LIKELY.values()]
        with httpx2.Client(base_url=self._url, timeout=TIMEOUT_S, headers=caller()) as http:
            while not self._stop.wait(PAUSE_S):
                [kind] = self._chance.choices(kinds, weights)
                self._ask(kind, http)

    def _ask(self, kind: str, http: httpx2.Client) -> None:
        began = time.monotonic()
        try:
            failure = failure_of(self._asks[kind](http))
        except httpx2.HTTPError as error:
            failure = failure_in(error)
        self._tally.count(kind, began, failure)

    def _search(self, http: httpx2.Client, k: int, after: str | None = None) -> httpx2.Response:
        query = sentence(self._chance)
        body = {"query": query, "collection": self._collection, "k": k, "min_version": after}
        answer = http.post("/search", json=body)
        if answer.is_success:
            self._tally.searches.append(search_answer(query, answer.json(), whole=k == ALL, after=after))
        return answer

    def _similarity(self, http: httpx2.Client) -> httpx2.Response:
        pairs = [{"a": sentence(self._chance), "b": sentence(self._chance)} for _ in range(3)]
        answer = http.post("/similarity", json={"pairs": pairs})
        if answer.is_success:
            said = answer.json()
            self._tally.pairs.extend(
                PairAnswer(pair["a"], pair["b"], said["space"], score, score)
                for pair, score in zip(pairs, said["scores"], strict=True)
            )
        return answer

    def _explain(self, http: httpx2.Client) -> httpx2.Response:
        body = {"a": sentence(self._chance), "b": sentence(self._chance)}
        answer = http.post("/explain", json=body)
        if answer.is_success:
            said = answer.json()
            parts = math.fsum([*(link["contribution"] for link in said["links"]), said["special"], said["omitted"]])
            self._tally.pairs.append(PairAnswer(body["a"], body["b"], said["space"], said["score"], parts))
        return answer

    def _get(self, http: httpx2.Client) -> httpx2.Response:
        doc_id = self._chance.choice(self._ledger.ids_of(self._ledger.epoch) or ["nobody"])
        answer = http.get(f"/collections/{self._collection}/documents/{doc_id}")
        if answer.is_success:
            self._tally.gotten.append((doc_id, answer.json()["text"]))
        return answer


def search_answer(query: str, said: Any, *, whole: bool, after: str | None = None) -> SearchAnswer:
    """What is kept of an answer to /search."""
    [result] = said["results"]
    hits = [(hit["id"], hit["text"], hit["score"]) for hit in result["hits"]]
    return SearchAnswer(query, said["version"], said["space"], hits, whole, after)
