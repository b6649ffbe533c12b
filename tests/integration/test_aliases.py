"""Aliases of collections over HTTP: every request sees one collection whole, also during a switch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import NDJSON, Api, code_of
from tests.integration.test_concurrency import repeating
from tests.support.waiting import until

VERSIONS = ("parts-1", "parts-2")
WORDS = ("lamp", "chair", "table", "shelf")


@pytest.fixture
def parts(http: httpx2.Client) -> Iterator[Api]:
    """Two collections, whose documents name them, and an alias of the first."""
    api = Api(http)
    for name in VERSIONS:
        api.collection(name, tokens="int8")
        api.store(name, *({"id": f"{name}-{word}", "text": f"A {word} of {name}."} for word in WORDS))
    switch(api, 0)
    yield api
    for name in VERSIONS:
        http.delete(f"/collections/{name}")


def switch(api: Api, number: int) -> httpx2.Response:
    answer = api.http.put("/aliases/parts", json={"collection": VERSIONS[number % 2]})
    assert answer.status_code in (200, 201), answer.text
    return answer


def test_an_alias_is_created_switched_listed_and_deleted(parts: Api) -> None:
    assert parts.http.delete("/aliases/parts").status_code == 204
    for number, status in ((0, 201), (0, 200), (1, 200)):
        answer = switch(parts, number)
        assert (answer.status_code, answer.json()) == (status, {"name": "parts", "collection": VERSIONS[number]})
    assert {"name": "parts", "collection": "parts-2"} in parts.get("/aliases")["aliases"]
    assert parts.get("/collections/parts")["name"] == "parts-2"
    parts.http.delete("/collections/parts-2")
    assert "parts" not in [each["name"] for each in parts.get("/aliases")["aliases"]]
    assert code_of(parts.http.delete("/aliases/parts")) == (404, "unknown_alias")
    assert code_of(parts.http.get("/collections/parts")) == (404, "unknown_collection")


def test_names_that_would_mean_two_things_are_refused(parts: Api) -> None:
    for method, path, body, refusal, told in (
        ("PUT", "/aliases/parts", {"collection": "none"}, (404, "unknown_collection"), "create it first"),
        ("PUT", "/aliases/other", {"collection": "parts"}, (404, "unknown_collection"), "no other alias"),
        ("PUT", "/aliases/parts-2", {"collection": "parts-1"}, (409, "alias_conflict"), "choose another name"),
        ("PUT", "/collections/parts", {}, (409, "alias_conflict"), "DELETE /aliases/parts"),
        ("DELETE", "/collections/parts", None, (409, "alias_conflict"), "by its own name"),
        ("PUT", "/aliases/PARTS", {"collection": "parts-1"}, (422, "bad_name"), "1 to 64 characters"),
        ("PUT", "/aliases/parts", {}, (422, "missing_field"), "required"),
    ):
        answer = parts.http.request(method, path, json=body)
        assert code_of(answer) == refusal, answer.text
        assert told in answer.text
    assert parts.get("/collections/parts")["name"] == "parts-1"


def test_what_is_written_by_an_alias_is_in_its_collection(parts: Api) -> None:
    former = parts.store("parts", {"id": "new", "text": "A sofa."})["version"]
    assert parts.lines("parts", b'{"id": "line", "text": "A bed."}\n')[-1]["done"]
    assert parts.get("/collections/parts-1")["count"] == parts.get("/collections/parts")["count"] == 6
    assert parts.hits("sofa", collection="parts", min_version=former)[0]["id"] == "new"
    assert parts.http.delete("/collections/parts/documents/line").status_code == 200
    switch(parts, 1)
    assert parts.get("/collections/parts")["count"] == 4
    for path, body in (("/search", {"query": "a", "collection": "parts"}), ("/collections/parts/count", {})):
        assert code_of(parts.post(path, body | {"min_version": former})) == (409, "version_mismatch")
    lines = parts.http.post("/collections/none/documents", content=b"{}", headers=NDJSON)
    assert code_of(lines) == (404, "unknown_collection")


def seen(api: Api, kind: str) -> set[str]:
    """The collections from which one request by the alias reads."""
    match kind:
        case "search":
            options: dict[str, Any] = {"measure": "rcmd_words", "explain": True}
            documents = api.hits("a lamp", collection="parts", **options)
        case "list":
            documents = api.ok("/collections/parts/list", {})["documents"]
        case _:
            documents = api.get("/collections/parts/documents")["documents"]
    assert len(documents) == len(WORDS)
    return {each["text"].split(" of ")[1].rstrip(".") for each in documents}


def test_a_switch_under_load_fails_and_mixes_nothing(parts: Api) -> None:
    """What begins after the answer to a switch gets the new collection."""
    answered = begun = 0
    answers: list[tuple[set[str], set[str]]] = []  # the collections of each, and those that are right

    def read(kind: str) -> None:
        before = answered
        found = seen(parts, kind)
        answers.append((found, {VERSIONS[number % 2] for number in range(before, begun + 1)}))

    kinds = ("search", "search", "list", "documents")
    with repeating(*(partial(read, kind) for kind in kinds)):
        for begun in range(1, 31):
            switch(parts, begun)
            answered = begun
            enough = len(answers) + 2 * len(kinds)
            until(lambda: len(answers) >= enough)  # noqa: B023 - at once
    assert [found for found, right in answers if len(found) != 1 or not found <= right] == []
    assert sum(len(right) == 1 for _, right in answers) > 30, "requests between two switches"
