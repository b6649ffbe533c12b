"""Searches by a document, with facets, groups and diversity, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api


def hits(api: Api, **body: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.ok("/search", body)["results"][0]["hits"]
    return found


def test_a_document_takes_the_place_of_a_query(api: Api, http: httpx2.Client) -> None:
    """Its neighbors are those of its text, by the vectors that are stored; it is not among them itself."""
    text = http.get("/collections/default/documents/shipping-001").json()["text"]
    by_text = hits(api, query=text, k=6)
    by_id = hits(api, like="shipping-001", k=5)
    assert by_text[0]["id"] == "shipping-001"
    assert [hit["id"] for hit in by_id] == [hit["id"] for hit in by_text[1:]]
    for measure, mode in (("rcmd", "vector"), ("cosine", "hybrid"), ("cosine", "lexical"), (None, "auto")):
        found = hits(api, like="shipping-001", k=5, measure=measure, mode=mode, highlight=True, explain=True)
        assert len(found) == 5
        assert "shipping-001" not in [hit["id"] for hit in found]
    missing = http.post("/search", json={"like": "none"})
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown_document")


def test_a_long_document_is_a_query_by_its_first_passage(api: Api) -> None:
    api.collection("long")
    passages = ["The harbor lies in the fog and no ship leaves it today. " * 20, "Bread is baked at night. " * 60]
    api.store("long", {"id": "both", "text": "".join(passages)}, {"id": "fog", "text": "Ships wait in the foggy port."})
    api.store("long", {"id": "bread", "text": "Bakers bake bread at night."})
    answer = api.ok("/search", {"like": "both", "collection": "long"})
    assert answer["truncated"] == [True]
    assert [hit["id"] for hit in answer["results"][0]["hits"]] == ["fog", "bread"]


def test_facets_count_what_passes_filter_and_threshold(api: Api) -> None:
    where = {"category": {"in": ["shipping", "billing"]}}
    body = {"query": "my parcel never came", "filter": where, "facets": [{"field": "category"}]}
    [without] = api.ok("/search", body)["results"]
    counted = api.ok("/collections/default/count", {"filter": where, "facets": [{"field": "category"}]})
    assert without["facets"] == {"count": counted["count"], "facets": counted["facets"], "exact": True}
    scored = hits(api, query=body["query"], filter=where, k=200)
    least = scored[9]["score"] - 1e-6
    passing = [hit["metadata"]["category"] for hit in scored if hit["score"] >= least]
    for measure in ("cosine", "rcmd"):
        [own] = api.ok("/search", body | {"min_score": least, "measure": measure, "candidates": 200})["results"]
        assert own["facets"]["exact"]
        if measure == "cosine":
            assert own["facets"]["count"] == 10
            values = {each["value"]: each["count"] for each in own["facets"]["facets"][0]["values"]}
            assert values == {value: passing.count(value) for value in set(passing)}
    [few] = api.ok("/search", body | {"min_score": -1, "k": 2, "candidates": 5})["results"]
    assert (few["facets"]["count"], few["facets"]["exact"], len(few["hits"])) == (5, False, 2)
    [first] = api.ok("/search", body | {"min_score": least, "k": 2, "candidates": 20})["results"]
    assert (first["facets"]["count"], first["facets"]["exact"]) == (10, True), "the others are known to be less alike"


def test_groups_are_the_best_hits_of_each_value(api: Api) -> None:
    query = "my parcel never came"
    scored = hits(api, query=query, k=200)
    best: dict[str, list[str]] = {}
    for hit in scored[:100]:
        best.setdefault(hit["metadata"]["category"], []).append(hit["id"])
    one = hits(api, query=query, group_by="category", k=3)
    assert [hit["id"] for hit in one] == [ids[0] for ids in best.values()][:3]
    two = hits(api, query=query, group_by="category", group_size=2, k=3, explain=True)
    assert [hit["id"] for hit in two] == [doc_id for ids in list(best.values())[:3] for doc_id in ids[:2]]


def test_diverse_hits_repeat_less(api: Api) -> None:
    api.collection("twins")
    texts = ["My parcel never came.", "My parcel never came!", "My parcel has never come.", "The package is late."]
    api.store("twins", *({"id": str(i), "text": text} for i, text in enumerate(texts)))
    body = {"query": "my parcel never came", "collection": "twins", "k": 2}
    assert {hit["id"] for hit in hits(api, **body)} < {"0", "1", "2"}
    diverse = hits(api, **body, diversity=0.6)
    assert (diverse[0]["id"] in "012", diverse[1]["id"]) == (True, "3")
    assert [hit["id"] for hit in hits(api, **body, diversity=0.6, explain=True)] == [hit["id"] for hit in diverse]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"like": "shipping-001", "query": "a"}, "invalid_request"),
        ({"like": ["shipping-001"]}, "invalid_value"),
        ({}, "invalid_request"),
        ({"query": "a", "diversity": 1.5}, "out_of_range"),
        ({"query": "a", "diversity": 0.5, "mode": "lexical"}, "invalid_value"),
        ({"query": "a", "group_size": 2}, "invalid_value"),
        ({"queries": ["a"] * 20, "k": 1, "group_by": "x", "candidates": 1000}, "out_of_range"),
        ({"query": "a", "group_by": ""}, "out_of_range"),
        ({"query": "a", "group_by": "x", "group_size": 100, "k": 1000}, "out_of_range"),
        ({"query": "a", "facets": [{"field": "x"}, {"field": "x"}]}, "invalid_value"),
        ({"query": "a", "facets": [{"field": str(i)} for i in range(21)]}, "out_of_range"),
        ({"query": "a", "facets": [{"field": "x", "values": 10_000}]}, "out_of_range"),
    ],
)
def test_bad_options_are_refused(http: httpx2.Client, body: dict[str, object], code: str) -> None:
    answer = http.post("/search", json=body)
    codes = {answer.json().get("code"), *(each["code"] for each in answer.json().get("errors", ()))}
    assert (answer.status_code, code in codes) == (422, True), answer.text
