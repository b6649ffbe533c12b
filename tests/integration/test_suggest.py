"""Suggestions of words and values while a query is typed, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

TITLES = ["How to return a parcel", "How to return shoes", "how it works", "Wie geht das"]


@pytest.fixture(scope="module")
def typing(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("typed")
    texts = ["Grüße und Größen", "Parcels: a parcel is lost", "the parcel", "a parking lot in Łódź", "東京の部品 pa-12"]
    metadata: list[dict[str, Any]] = [{"title": each} for each in TITLES] + [{"title": ["Part", 3], "secret": True}]
    documents = zip(texts, metadata, strict=True)
    api.store("typed", *({"id": str(i), "text": text, "metadata": own} for i, (text, own) in enumerate(documents)))
    api.store("typed", {"id": "gone", "text": "paragraph parade", "metadata": {"title": "How gone"}})
    api.http.delete("/collections/typed/documents/gone")
    return api


def suggested(api: Api, query: str, **options: object) -> list[str]:
    found = api.ok("/suggest", {"query": query, "collection": "typed", **options})["suggestions"]
    return [each["text"] for each in found]


def test_the_last_word_is_completed_by_frequent_words(typing: Api) -> None:
    """As the documents write them, with all that stands before in the query."""
    assert suggested(typing, "a LOST par") == ["a LOST parcel", "a LOST Parcels", "a LOST parking"]
    assert suggested(typing, "par", k=1) == ["parcel"]
    assert suggested(typing, "gru") == ["Grüße"]
    assert suggested(typing, "lod") == ["Łódź"]
    assert suggested(typing, "zzz") == suggested(typing, "parcel ") == suggested(typing, "?!") == []


def test_values_of_a_field_come_first(typing: Api) -> None:
    found = typing.ok("/suggest", {"query": "how", "collection": "typed", "field": "title"})["suggestions"]
    assert [each["text"] for each in found] == ["How to return a parcel", "How to return shoes", "how it works"]
    assert {each["field"] for each in found} == {"title"}
    assert suggested(typing, "part", field="title") == ["Part"]
    assert suggested(typing, "pa", field="title", k=2) == ["Part", "parcel"]


def test_only_matching_documents_are_suggested(typing: Api) -> None:
    visible = {"not": {"secret": True}}
    assert suggested(typing, "pa", field="title", filter=visible) == ["parcel", "Parcels", "parking"]
    assert suggested(typing, "how", field="title", filter={"title": "how it works"}) == ["how it works"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": ""}, "out_of_range"),
        ({"query": "a", "k": 51}, "out_of_range"),
        ({"query": "a", "collection": "none"}, "unknown_collection"),
        ({"query": "a", "filter": {"$and": []}}, "bad_filter"),
        ({}, "missing_field"),
    ],
)
def test_malformed_requests_are_refused(typing: Api, body: dict[str, Any], code: str) -> None:
    answer = typing.post("/suggest", body)
    assert (answer.status_code, answer.json()["code"]) == (404 if code == "unknown_collection" else 422, code)
