"""Concurrent clients of one collection: deletes and creates, writes of one id, searches during rebuilds."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, pairwise
from typing import Any

import httpx2
import numpy as np
import pytest

from semblance.service.ports.documents import Version
from tests.integration.conftest import Api
from tests.support.waiting import until

BOUND = 1e-5  # of scores in float32
TOPICS = ("a parcel", "the garden", "two cats", "the password", "an invoice", "rain", "a guitar", "the harbour")


@pytest.fixture
def clients(url: str) -> Iterator[Callable[[], httpx2.Client]]:
    """Opens a connection for each thread."""
    made: list[httpx2.Client] = []

    def client() -> httpx2.Client:
        made.append(httpx2.Client(base_url=url, timeout=120))
        return made[-1]

    yield client
    for each in made:
        each.close()


@contextmanager
def repeating(*acts: Callable[[], object]) -> Iterator[None]:
    """Repeat each act in its own thread for the time of the block; a failure there fails the test."""
    over = threading.Event()

    def repeat(act: Callable[[], object]) -> None:
        while not over.is_set():
            act()

    with ThreadPoolExecutor(len(acts)) as pool:
        running = [pool.submit(repeat, act) for act in acts]
        try:
            yield
        finally:
            over.set()
    for each in running:
        each.result()


def number_of(version: str) -> int:
    return Version.parse(version).number


def epoch_of(version: str) -> str:
    return Version.parse(version).epoch


def store(http: httpx2.Client, name: str, doc_id: str, text: str) -> httpx2.Response:
    return http.post(f"/collections/{name}/documents", json={"documents": [{"id": doc_id, "text": text}]})


def listed(http: httpx2.Client, name: str) -> dict[str, str]:
    """List the texts of all documents, by id."""
    found: dict[str, str] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = http.get(f"/collections/{name}/documents", params={"limit": 500, "cursor": cursor}).json()
        found |= {each["id"]: each["text"] for each in page["documents"]}
        cursor = page["cursor"]
    return found


class Reborn:
    """Writers and searchers of the collection `reborn`, which is deleted and created repeatedly."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._acknowledged: list[tuple[str, str, str]] = []  # version, id, text
        self.seen = Counter[tuple[int, str]]()  # statuses and codes of all answers

    def writer(self, http: httpx2.Client, name: str) -> Callable[[], None]:
        numbers = count()

        def write() -> None:
            number = next(numbers)
            doc_id = f"{name}-{number}"
            text = f"Document {doc_id} speaks of {TOPICS[number % len(TOPICS)]}."
            if self._succeeded(answer := store(http, "reborn", doc_id, text)):
                self._acknowledged.append((answer.json()["version"], doc_id, text))

        return write

    def searcher(self, http: httpx2.Client, *, lately: bool) -> Callable[[], None]:
        """A searcher; with `lately`, it requires the last acknowledged version."""

        def search() -> None:
            body: dict[str, Any] = {"query": "a document", "collection": "reborn", "k": 20}
            if lately and self._acknowledged:
                body["min_version"] = self._acknowledged[-1][0]
            if self._succeeded(answer := http.post("/search", json=body)):
                for hit in answer.json()["results"][0]["hits"]:
                    assert hit["text"].startswith(f"Document {hit['id']} speaks of ")

        return search

    def texts(self) -> dict[str, str]:
        """Texts of all documents acknowledged in the present collection, by id."""
        epoch = epoch_of(self._api.get("/collections/reborn")["version"])
        return {doc_id: text for version, doc_id, text in self._acknowledged if epoch_of(version) == epoch}

    def _succeeded(self, answer: httpx2.Response) -> bool:
        self.seen[answer.status_code, "" if answer.is_success else answer.json()["code"]] += 1
        return answer.is_success


def test_a_collection_recreated_under_load_is_consistent(
    api: Api, http: httpx2.Client, clients: Callable[[], httpx2.Client]
) -> None:
    api.collection("reborn")
    reborn, missing = Reborn(api), (404, "unknown_collection")
    writers = [reborn.writer(clients(), f"w{i}") for i in range(4)]
    searchers = [reborn.searcher(clients(), lately=lately) for lately in (False, True)]
    with repeating(*writers, *searchers):
        for _ in range(4):
            until(reborn.texts, "a write")
            assert http.delete("/collections/reborn").status_code == 204
            known = reborn.seen[missing]
            until(lambda: reborn.seen[missing] > known, "a request that finds no collection")  # noqa: B023
            assert http.put("/collections/reborn").status_code == 201
        until(lambda: len(reborn.texts()) >= 5, "writes")

    assert reborn.seen.keys() <= {(200, ""), missing, (409, "version_mismatch")}
    texts = reborn.texts()
    assert listed(http, "reborn") == texts
    assert api.get("/collections/reborn")["count"] == len(texts)
    answer = api.ok("/search", {"queries": list(texts.values()), "collection": "reborn", "k": 1})
    for (doc_id, text), result in zip(texts.items(), answer["results"], strict=True):
        [hit] = result["hits"]
        assert (hit["id"], hit["text"], hit["score"]) == (doc_id, text, pytest.approx(1.0, abs=BOUND))


@pytest.mark.parametrize("texts", [96, 2], ids=["many texts", "two texts"])
def test_concurrent_writes_of_one_id_end_with_the_last_version(
    api: Api, http: httpx2.Client, clients: Callable[[], httpx2.Client], texts: int
) -> None:
    api.collection("contested")
    together = threading.Barrier(16)
    pool_of_texts = [f"Number {i} writes about {TOPICS[i % len(TOPICS)]}." for i in range(texts)]

    def write(number: int) -> list[tuple[int, str, int]]:
        mine, answered = clients(), []
        together.wait()
        for turn in range(6):
            text = pool_of_texts[(6 * number + turn) % texts]
            answer = store(mine, "contested", "one", text)
            version = number_of(answer.json()["version"]) if answer.status_code == 200 else 0
            answered.append((answer.status_code, text, version))
        return answered

    with ThreadPoolExecutor(16) as pool:
        running: list[Future[list[tuple[int, str, int]]]] = [pool.submit(write, number) for number in range(16)]
        answered = [each for one in running for each in one.result()]
    versions = {version: text for status, text, version in answered if status == 200}
    # with few texts, other writers may change the stored text during all five attempts
    assert {status for status, _, _ in answered} <= ({200} if texts == 96 else {200, 409})
    assert len(versions) == sum(status == 200 for status, _, _ in answered) >= 1
    assert listed(http, "contested") == {"one": versions[max(versions)]}
    assert api.get("/collections/contested")["count"] == 1
    last = versions[max(versions)]
    for text in {last, versions[min(versions)], "Something else."}:
        [hit] = api.hits(text, collection="contested")
        assert (hit["id"], hit["text"]) == ("one", last)
        assert [hit["score"]] == pytest.approx(api.scores((text, last)), abs=BOUND)


def test_searches_are_exhaustive_at_their_version_during_rebuilds(
    api: Api, http: httpx2.Client, clients: Callable[[], httpx2.Client]
) -> None:
    """In every generation each of 100 documents takes the text of the next one: 100 more dead rows, and other hits."""
    api.collection("churned")
    texts = [f"{word} {topic} {i}" for i, word in enumerate(("lost", "my", "new", "old", "no")) for topic in TOPICS] * 3
    texts = [f"{text} {i}" for i, text in enumerate(texts[:100])]
    queries = ["Where is my parcel?", "It rains in the garden.", "He plays the guitar."]
    embedded = api.ok("/v1/embeddings", {"model": "minilm-graded", "input": [*queries, *texts]})["data"]
    vectors = np.array([entry["embedding"] for entry in embedded])
    similarities = vectors[:3] @ vectors[3:].T
    searched: set[int] = set()

    def generation(number: int) -> list[dict[str, str]]:
        return [{"id": f"d{i:02}", "text": texts[(i + number) % 100]} for i in range(100)]

    def searcher() -> Callable[[], None]:
        mine = clients()

        def search() -> None:
            answer = mine.post("/search", json={"queries": queries, "collection": "churned", "k": 10})
            assert answer.status_code == 200, answer.text
            number = number_of(answer.json()["version"])
            searched.add(number)
            for scores, result in zip(similarities, answer.json()["results"], strict=True):
                right = {f"d{(text - number) % 100:02}": text for text in range(100)}
                hits = {hit["id"]: hit["score"] for hit in result["hits"]}
                assert list(hits.values()) == pytest.approx(sorted(scores, reverse=True)[:10], abs=BOUND)
                assert hits == pytest.approx({doc_id: scores[right[doc_id]] for doc_id in hits}, abs=BOUND)
                assert {hit["id"]: hit["text"] for hit in result["hits"]} == {d: texts[right[d]] for d in hits}

        return search

    rows: list[int] = []

    def rebuilt_twice() -> bool:
        number = len(rows) + 1
        assert number_of(api.store("churned", *generation(number))["version"]) == number
        rows.append(_index_rows(http, "churned"))
        return sum(later < earlier for earlier, later in pairwise(rows)) >= 2 and len(searched) > 10

    rebuilt_twice()
    with repeating(searcher(), searcher()):
        until(rebuilt_twice, "two rebuilds of the index, and searches in between")


def _index_rows(http: httpx2.Client, name: str) -> int:
    line = f'semblance_index_rows{{collection="{name}"}} '
    return int(float(http.get("/metrics").text.partition(line)[2].split("\n")[0]))
