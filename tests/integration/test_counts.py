"""Counts and facets over the documents that match a filter."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("counted")
    documents: list[dict[str, Any]] = [
        {"team": ["hr", "it"][i % 2], "tags": ["a", "b", "c"][: i % 4], "open": i < 3, "n": i % 5} for i in range(12)
    ]
    documents += [{"n": "3"}, {"n": None}]
    long = "A sentence that fills the page. " * 40  # two passages
    api.store("counted", *({"id": str(i), "text": long, "metadata": each} for i, each in enumerate(documents)))
    return api


def count(api: Api, **body: object) -> dict[str, Any]:
    answer: dict[str, Any] = api.ok("/collections/counted/count", body)
    return answer


def values(answer: dict[str, Any], field: str) -> list[tuple[object, int]]:
    [facet] = [each for each in answer["facets"] if each["field"] == field]
    return [(each["value"], each["count"]) for each in facet["values"]]


def test_all_documents_are_counted_without_a_filter(api: Api, http: httpx2.Client) -> None:
    assert count(api)["count"] == 14
    empty = http.post("/collections/counted/count")
    assert (empty.status_code, empty.json()["count"]) == (200, 14)
    assert empty.json()["version"] == api.get("/collections/counted")["version"]


def test_facets_count_documents_that_match(api: Api) -> None:
    answer = count(api, filter={"team": "hr"}, facets=[{"field": "tags"}, {"field": "open"}, {"field": "none"}])
    assert answer["count"] == 6
    assert values(answer, "tags") == [("a", 3), ("b", 3)]
    assert values(answer, "open") == [(False, 4), (True, 2)]
    assert values(answer, "none") == []
    numbers = count(api, facets=[{"field": "n", "values": 3}])
    assert values(numbers, "n") == [(0, 3), (1, 3), (2, 2)]
    assert numbers["facets"][0]["distinct"] == 7
    every = values(count(api, facets=[{"field": "n", "values": 9}]), "n")
    assert {(type(value), value) for value, _ in every} >= {(int, 3), (str, "3"), (type(None), None)}


def test_a_count_sees_the_write_before_it(api: Api) -> None:
    version = api.store("counted", {"id": "more", "text": "More.", "metadata": {"team": "new"}})["version"]
    assert count(api, filter={"team": "new"}, min_version=version)["count"] == 1
    api.http.delete("/collections/counted/documents/more").raise_for_status()
    assert count(api, filter={"team": "new"})["count"] == 0
