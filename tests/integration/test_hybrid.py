"""Searches by terms: modes, what each hit says, and the sums."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from semblance.models.tokenization.terms import query_terms
from tests.integration.conftest import Api
from tests.support.plain_bm25 import bm25_scores

PARTS = ["E-4711", "E-4712", "E4711", "e 4711"]
OTHERS = ["lamp", "pump", "valve", "sensor", "gasket", "bearing", "filter", "hinge"]
TEXTS = {
    **{part: f"Spare part {part} is kept on shelf nine." for part in PARTS},
    **{f"other-{i}": f"The {OTHERS[i % 8]} of series {i}, kept on shelf {i}, costs {i}.50 euros." for i in range(60)},
    "ja": "荷物はまだ届いていません。",
    "th": "พัสดุยังไม่มา",
    "ko": "소포가 아직 도착하지 않았습니다.",
    "zh": "包裹还没有到。",
}


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("parts", tokens="int8")
    api.store("parts", *({"id": key, "text": text, "metadata": {"part": key in PARTS}} for key, text in TEXTS.items()))
    return api


def search(api: Api, query: str, **options: object) -> list[dict[str, Any]]:
    return api.hits(query, collection="parts", **options)


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "auto"])
def test_a_part_number_is_found_as_it_is_written(api: Api, mode: str) -> None:
    for part in PARTS:
        assert search(api, part, mode=mode)[0]["id"] == part


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "rcmd1_words"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_every_hit_says_what_its_terms_add(api: Api, mode: str, measure: str) -> None:
    query = "where is the E-4711 lamp of series 12, or the pump?"
    hits = search(api, query, mode=mode, measure=measure, k=30)
    expected = bm25_scores(TEXTS, query)
    plain = {hit["id"]: hit["score"] for hit in search(api, query, measure=measure, k=100)}
    for hit in hits:
        lexical = hit["lexical"]
        assert lexical["score"] == pytest.approx(expected[hit["id"]], abs=1e-9)
        assert sum(term["score"] for term in lexical["terms"]) == pytest.approx(lexical["score"], abs=1e-9)
        assert sum(term["bonus"] for term in lexical["terms"]) == pytest.approx(lexical["bonus"], abs=1e-9)
        assert hit["score"] == pytest.approx(plain[hit["id"]], abs=1e-6), "the score is that of the measure"
        for term in lexical["terms"]:
            assert len(term["spans"]) == term["tf"]
            assert {hit["text"][start:end].lower() for start, end in term["spans"]} == {term["term"]}
        if mode == "hybrid":
            assert lexical["bonus"] == pytest.approx(0.5 * lexical["score"] / (lexical["score"] + 40), abs=1e-12)
            assert lexical["combined"] == pytest.approx(hit["score"] + lexical["bonus"], abs=1e-12)
    assert [hit["lexical"]["codes"] for hit in hits[:2]] == ["all", "none"]
    values = [hit["lexical"]["score" if mode == "lexical" else "combined"] for hit in hits[1:]]
    assert values == sorted(values, reverse=True)
    ranks = sorted(hit["lexical"]["term_rank"] for hit in hits if hit["lexical"]["term_rank"])
    assert ranks[:3] == [1, 2, 3]


def test_a_mode_without_terms_is_a_search_by_vector(api: Api) -> None:
    query = "how do i get my money back"
    plain = search(api, query)
    assert all(hit["lexical"] is None for hit in plain)
    assert search(api, query, mode="auto") == plain
    assert search(api, "qwertz", mode="lexical") == []
    assert [hit["id"] for hit in search(api, "qwertz", mode="hybrid")] == [hit["id"] for hit in search(api, "qwertz")]


@pytest.mark.parametrize(("query", "doc_id"), [("荷物", "ja"), ("包裹", "zh"), ("พัสดุ", "th"), ("소포", "ko")])
def test_languages_without_spaces_are_found_by_parts_of_words(api: Api, query: str, doc_id: str) -> None:
    hits = search(api, query, mode="lexical")
    assert [hit["id"] for hit in hits] == [doc_id]
    [term, *_] = hits[0]["lexical"]["terms"]
    start, end = term["spans"][0]
    assert hits[0]["text"][start:end] in query


@pytest.mark.parametrize(
    "query", ['"E-4711" AND NOT lamp*', "NEAR(lamp pump, 2)", "{text} : E-4711", "'; DROP TABLE documents; --"]
)
def test_operators_of_query_languages_are_words(api: Api, query: str) -> None:
    for mode in ("lexical", "hybrid", "auto"):
        hits = search(api, query, mode=mode, k=3)
        found = {term["term"] for hit in hits if hit["lexical"] for term in hit["lexical"]["terms"]}
        assert found <= {term.text for term in query_terms(query)}


def test_filters_and_limits_apply_to_the_measure(api: Api) -> None:
    hits = search(api, "E-4711 on shelf nine", mode="hybrid", filter={"part": False}, k=50)
    assert not {hit["id"] for hit in hits} & set(PARTS)
    least = hits[5]["score"]
    kept = search(api, "E-4711 on shelf nine", mode="hybrid", filter={"part": False}, k=50, min_score=least)
    assert {hit["id"] for hit in kept} == {hit["id"] for hit in hits if hit["score"] >= least}


def test_terms_follow_writes(api: Api) -> None:
    api.store("parts", {"id": "new", "text": "The zyzzyva eats leaves."})
    assert [hit["id"] for hit in search(api, "zyzzyva", mode="lexical")] == ["new"]
    api.store("parts", {"id": "new", "text": "The ZYZZYVA eats leaves."})
    [hit] = search(api, "zyzzyva", mode="lexical")
    assert hit["text"] == "The ZYZZYVA eats leaves."
    api.store("parts", {"id": "new", "text": "Another text."})
    assert search(api, "zyzzyva", mode="lexical") == []
    api.http.delete("/collections/parts/documents/new").raise_for_status()
    assert "new" not in {hit["id"] for hit in search(api, "another text", mode="hybrid", k=100)}


def test_explained_hits_keep_their_terms(api: Api) -> None:
    hits = search(api, "spare part E-4712", mode="hybrid", measure="rcmd1", explain=True, k=5)
    for hit in hits:
        assert hit["explanation"]["score"] == hit["score"]
        assert hit["lexical"]["combined"] == pytest.approx(hit["score"] + hit["lexical"]["bonus"], abs=1e-12)
    values = [hit["lexical"]["combined"] for hit in hits]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("mode", ["vector", "lexical", "hybrid", "auto"])
def test_equals_are_in_one_order_for_any_k(api: Api, mode: str) -> None:
    api.collection("parcels")
    texts = ["lost parcel"] * 3 + ["parcel parcel river"] * 12
    api.store("parcels", *({"id": f"{i * 7 % 15:02}", "text": text} for i, text in enumerate(texts)))
    for measure in ("cosine", "rcmd"):
        found = [
            [hit["id"] for hit in api.hits("lost parcel", collection="parcels", mode=mode, measure=measure, k=k)]
            for k in (15, 4, 3, 1)
        ]
        assert all(each == found[0][: len(each)] for each in found)
        assert found[0] == ["00", "07", "14", *(f"{i:02}" for i in range(15) if i % 7)]
