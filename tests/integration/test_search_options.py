"""Searches by a document, with facets, groups and diversity, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.conftest import Api

QUERY = "my parcel never came"


def test_a_document_takes_the_place_of_a_query(api: Api) -> None:
    """Its neighbors are those of its text, by the vectors that are stored; it is not among them itself."""
    by_text = api.hits(api.get("/collections/default/documents/shipping-001")["text"], k=6)
    by_id = api.hits(like="shipping-001", k=5)
    assert [hit["id"] for hit in by_text] == ["shipping-001", *(hit["id"] for hit in by_id)]
    for measure, mode in (("rcmd", "vector"), ("cosine", "hybrid"), ("cosine", "lexical"), (None, "auto")):
        found = api.hits(like="shipping-001", k=5, measure=measure, mode=mode, highlight=True, explain=True)
        assert len(found) == 5
        assert "shipping-001" not in [hit["id"] for hit in found]


def test_a_long_document_is_a_query(api: Api) -> None:
    api.collection("long")
    passages = ["The harbor lies in the fog and no ship leaves it today. " * 20, "Bread is baked at night. " * 60]
    api.store("long", {"id": "both", "text": "".join(passages)}, {"id": "fog", "text": "Ships wait in the foggy port."})
    api.store("long", {"id": "bread", "text": "Bakers bake bread at night."})
    first = api.ok("/search", {"like": "both", "collection": "long", "truncate": "END"})
    assert (first["truncated"], first["usage"]["passages"]) == ([True], 0)
    assert [hit["id"] for hit in first["results"][0]["hits"]] == ["fog", "bread"]
    whole = api.ok("/search", {"like": "both", "collection": "long"})
    assert (whole["truncated"], whole["usage"]["passages"] > 2) == ([False], True)
    nearer = {hit["id"]: hit["score"] for hit in whole["results"][0]["hits"]}["bread"]
    assert nearer > {hit["id"]: hit["score"] for hit in first["results"][0]["hits"]}["bread"] + 0.1


def test_facets_count_what_passes_filter_and_threshold(api: Api) -> None:
    where = {"category": {"in": ["shipping", "billing"]}}
    body: dict[str, Any] = {"query": QUERY, "filter": where, "facets": [{"field": "category"}]}

    def facets(**options: object) -> Any:
        [result] = api.ok("/search", body | options)["results"]
        return result["facets"]

    counted = api.ok("/collections/default/count", {"filter": where, "facets": [{"field": "category"}]})
    assert facets() == {"count": counted["count"], "facets": counted["facets"], "exact": True}
    scored = api.hits(QUERY, filter=where, k=200)
    least = scored[9]["score"] - 1e-6
    passing = [hit["metadata"]["category"] for hit in scored if hit["score"] >= least]
    found = facets(min_score=least, candidates=200)
    assert (found["count"], found["exact"]) == (10, True)
    values = {each["value"]: each["count"] for each in found["facets"][0]["values"]}
    assert values == {value: passing.count(value) for value in set(passing)}
    assert facets(min_score=least, measure="rcmd", candidates=200)["exact"]
    few, first = facets(min_score=-1, k=2, candidates=5), facets(min_score=least, k=2, candidates=20)
    assert (few["count"], few["exact"]) == (5, False)
    assert (first["count"], first["exact"]) == (10, True), "the others are known to be less alike"


def test_groups_are_the_best_hits_of_each_value(api: Api) -> None:
    best: dict[str, list[str]] = {}
    for hit in api.hits(QUERY, k=200)[:100]:
        best.setdefault(hit["metadata"]["category"], []).append(hit["id"])
    for size in (1, 2):
        found = api.hits(QUERY, group_by="category", group_size=size, k=3, explain=size == 2)
        assert [hit["id"] for hit in found] == [doc_id for ids in list(best.values())[:3] for doc_id in ids[:size]]


def test_diverse_hits_repeat_less(api: Api) -> None:
    api.collection("diverse")
    texts = ["My parcel never came.", "My parcel never came!", "My parcel has never come.", "The package is late."]
    api.store("diverse", *({"id": str(i), "text": text} for i, text in enumerate(texts)))
    body = {"query": QUERY, "collection": "diverse", "k": 2}
    assert {hit["id"] for hit in api.hits(**body)} < {"0", "1", "2"}
    for explain in (False, True):
        first, second = api.hits(**body, diversity=0.6, explain=explain)
        assert (first["id"] in "012", second["id"]) == (True, "3")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "hybrid", "measure": "rcmd"},
        {"mode": "lexical"},
        {"group_by": "category", "group_size": 2},
        {"diversity": 0.5},
        {"min_score": 0.1},
    ],
)
def test_pages_by_offset_make_the_whole(api: Api, options: dict[str, Any]) -> None:
    body = {"candidates": 60, **options}
    whole = api.hits(QUERY, k=9, **body)
    pages = [hit for offset in (0, 3, 6) for hit in api.hits(QUERY, k=3, offset=offset, **body)]
    assert pages == whole
    assert api.hits(QUERY, k=5, offset=500, **options) == []


def test_an_offset_beyond_the_limits_is_refused(api: Api) -> None:
    for body, pointer in (({"offset": 995, "k": 10}, "/offset"), ({"offset": 95, "candidates": 100}, "/")):
        answer = api.http.post("/search", json={"query": QUERY, **body})
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["pointer"].startswith(pointer[:-1] or "")
    assert api.http.post("/search", json={"query": QUERY, "offset": -1}).status_code == 422
