"""Searches by a document, with facets, groups and diversity, over HTTP."""

from __future__ import annotations

import math
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

QUERY = "my parcel never came"


def test_a_document_takes_the_place_of_a_query(api: Api) -> None:
    """Its neighbors are those of its text, by the vectors that are stored; it is not among them itself."""
    by_text = api.hits(api.get("/collections/default/documents/shipping-001")["text"], k=6, mode="vector")
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
    body: dict[str, Any] = {"query": QUERY, "mode": "vector", "filter": where, "facets": [{"field": "category"}]}

    def facets(**options: object) -> Any:
        [result] = api.ok("/search", body | options)["results"]
        return result["facets"]

    counted = api.ok("/collections/default/count", {"filter": where, "facets": [{"field": "category"}]})
    assert facets() == {"count": counted["count"], "facets": counted["facets"], "exact": True}
    scored = api.hits(QUERY, mode="vector", filter=where, k=200)
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


@pytest.fixture(scope="module")
def shop(http: httpx2.Client) -> Api:
    """Lamps with prices, views and dates, some of them missing or of another type."""
    api = Api(http)
    api.collection("shop")
    lamps: list[dict[str, Any]] = [
        {"price": [9, 40, 12.5, None, "cheap"][i % 5], "views": 10**i, "sold": f"2026-0{1 + i % 9}-01T00:00:00Z"}
        for i in range(30)
    ]
    lamps += [{}, {"views": -3, "sold": 0, "price": [70, 3]}, {"views": True, "sold": "yesterday"}]
    texts = ("a reading lamp", "a lamp for the desk", "a red bicycle")
    api.store("shop", *({"id": f"{i:02}", "text": texts[i % 3], "metadata": each} for i, each in enumerate(lamps)))
    return api


def price_of(hit: dict[str, Any]) -> tuple[int, float | str]:
    """Sorts as the page says: by type, then by value; a list counts by its smallest."""
    match hit["metadata"].get("price", ()):
        case ():
            return 9, 0
        case None:
            return 0, 0
        case str(price):
            return 2, price
        case list(prices):
            return 1, min(prices)
        case price:
            return 1, price


@pytest.mark.parametrize("options", [{}, {"mode": "lexical"}, {"mode": "vector", "measure": "rcmd", "explain": True}])
def test_hits_are_sorted_by_a_field(shop: Api, options: dict[str, Any]) -> None:
    body = {"query": "lamp", "collection": "shop", "min_score": 0.3, **options}
    whole = shop.hits(k=33, **body)
    assert 5 < len(whole) < 33
    expected = [hit["id"] for hit in sorted(whole, key=price_of)]
    found = shop.hits(k=33, **body, sort={"field": "price"})
    assert [hit["id"] for hit in found] == expected
    pages = [hit["id"] for at in range(0, 33, 4) for hit in shop.hits(k=4, offset=at, **body, sort={"field": "price"})]
    assert pages == expected
    highest = shop.hits(k=3, **body, sort={"field": "views", "descending": True})
    views = {hit["id"]: hit["metadata"]["views"] for hit in whole if type(hit["metadata"].get("views")) is int}
    assert [hit["id"] for hit in highest] == sorted(views, key=lambda doc_id: -views[doc_id])[:3]


def test_boosts_are_listed_parts_of_the_order(shop: Api) -> None:
    body: dict[str, Any] = {"query": "a lamp", "collection": "shop", "k": 33}
    plain = {hit["id"]: hit for hit in shop.hits(**body)}
    boosts = [
        {"field": "views", "full_at": 1e6, "weight": 0.3},
        {"field": "sold", "half_life_days": 20, "weight": -0.2, "origin": "2026-04-01"},
        {"field": "none", "full_at": 1, "weight": 1},
    ]
    for options in ({}, {"mode": "vector", "explain": True}):
        found = shop.hits(**body, **options, boosts=boosts)
        bonus = {hit["id"]: sum(each["bonus"] for each in hit["boosts"]) for hit in found}
        terms = {hit["id"]: hit["lexical"]["bonus"] if hit["lexical"] else 0 for hit in found}
        order = {hit["id"]: hit["score"] + terms[hit["id"]] + bonus[hit["id"]] for hit in found}
        assert list(order) == sorted(order, key=lambda doc_id: (-order[doc_id], doc_id))
        for hit in found:
            assert hit["score"] == pytest.approx(plain[hit["id"]]["score"], abs=2e-3 if options else 0)
            assert hit["lexical"] is None or hit["lexical"]["combined"] == pytest.approx(order[hit["id"]], abs=1e-12)
            assert [each["field"] for each in hit["boosts"]] == ["views", "sold", "none"]
            views, sold = (hit["metadata"].get(field) for field in ("views", "sold"))
            share = min(1, math.log(1 + max(0, views)) / math.log(1e6 + 1)) if type(views) is int else 0
            days = {"2026-03-01T00:00:00Z": 31, "2026-04-01T00:00:00Z": 0, 0: 20544}.get(sold)
            assert hit["boosts"][0]["bonus"] == pytest.approx(0.3 * share, abs=1e-12)
            assert hit["boosts"][2]["bonus"] == 0
            assert days is None or hit["boosts"][1]["bonus"] == pytest.approx(-0.2 * 2 ** (-days / 20), abs=1e-12)
            assert sold not in ("yesterday", None) or hit["boosts"][1]["bonus"] == 0


def test_ranges_are_counted_among_what_passes(shop: Api) -> None:
    ranges = [{"lt": 10}, {"gte": 9, "lte": 40}, {"gt": 40}, {"gte": "a"}]
    facets = [{"field": "price", "values": 0, "ranges": ranges}]
    counted = shop.ok("/collections/shop/count", {"facets": facets})["facets"]
    assert counted == [{"field": "price", "values": [], "distinct": 7, "ranges": [7, 18, 1, 6]}]
    least = shop.hits("lamp", collection="shop", k=5)[-1]["score"] - 1e-9
    body = {"query": "lamp", "collection": "shop", "facets": facets, "min_score": least, "k": 33}
    [result] = shop.ok("/search", body)["results"]
    prices = [hit["metadata"].get("price") for hit in result["hits"]]
    cheap = sum((type(each) in (int, float) and each < 10) or each == [70, 3] for each in prices)
    assert result["facets"]["facets"][0]["ranges"][0] == cheap


def test_only_chosen_fields_are_returned(shop: Api) -> None:
    [hit] = shop.hits("lamp", collection="shop", k=1, fields=["price", "nothing"])
    assert set(hit["metadata"]) <= {"price"}
    assert shop.hits("lamp", collection="shop", k=1, fields=[])[0]["metadata"] == {}


def test_an_answer_says_how_documents_were_found(shop: Api) -> None:
    for options, mode in (
        ({"query": "lamp"}, "hybrid"),
        ({"like": "00"}, "vector"),
        ({"query": "a", "mode": "auto"}, "auto"),
    ):
        assert shop.ok("/search", {"collection": "shop", **options})["mode"] == mode
