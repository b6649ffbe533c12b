"""Differences of scores: the parts, the sums, and what /explain and /search say of the same documents."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from semblance.models import catalogue
from tests.integration.conftest import Api, code_of

MEASURES = [name for name in catalogue.names(catalogue.MEASURES) if catalogue.explains(name)]
QUERY = "where is the parcel E-4711 that never came?"
TEXTS = {
    "lost": "A parcel that never came is replaced free of charge.",
    "part": "Spare part E-4711 is kept on shelf nine; the part E-4711 is rare.",
    "shop": "Our shop opens at nine. 🙂 We close at six.",
    "ja": "荷物はまだ届いていません。",
}
TOPICS = ["invoice", "garden", "violin", "harbour", "senate", "glacier", "bakery", "parcel"]
LONG = " ".join(f"Number {i} is about the {TOPICS[i % 8]} and how it came at {i} o'clock." for i in range(24))


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    for model in ("minilm-graded", "minilm"):
        api.collection(f"compared-{model}", model=model)
        api.store(f"compared-{model}", *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))
    api.collection("compared-cut", passages={"tokens": 40, "overlap": 0})
    serial = f"{LONG} It is marked E-4711. {LONG}"
    api.store("compared-cut", {"id": "long", "text": LONG}, {"id": "serial", "text": serial})
    return api


def difference(
    api: Api, a: str, b: str, collection: str = "compared-minilm-graded", query: str = QUERY, **options: object
) -> dict[str, Any]:
    body = {"query": query, "a": a, "b": b, "collection": collection, **options}
    found: dict[str, Any] = api.ok("/explain/difference", body)
    return found


def total(parts: list[dict[str, Any]], side: str) -> float:
    return sum(float(part[side]["contribution"]) for part in parts)


@pytest.mark.parametrize("model", ["minilm-graded", "minilm"])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_parts_sum_to_both_scores_and_their_difference(api: Api, model: str, measure: str) -> None:
    for pair in (("lost", "part"), ("ja", "shop")):
        found = difference(api, *pair, f"compared-{model}", measure=measure, mode="hybrid")
        parts = found["parts"]
        terms = [part for part in parts if part["kind"] == "term"]
        for side in ("a", "b"):
            assert total(parts, side) == pytest.approx(found[side]["combined"], abs=1e-9)
            assert total(terms, side) == pytest.approx(found[side]["bonus"], abs=1e-12)
        assert sum(part["difference"] for part in parts) == pytest.approx(found["difference"], abs=1e-9)
        assert found["difference"] == found["a"]["combined"] - found["b"]["combined"]
        sizes = [abs(part["difference"]) for part in parts]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("measure", ["rcmd_words", "rcmd1", "cosine", "word_movers", "dynamax_jaccard"])
def test_each_side_agrees_with_its_own_explanation(api: Api, measure: str) -> None:
    found = difference(api, "lost", "part", measure=measure)
    words = {part["start"]: part for part in found["parts"] if part["kind"] == "word"}
    [special] = [part for part in found["parts"] if part["kind"] == "special"]
    for side in ("a", "b"):
        body = {"a": QUERY, "id": found[side]["id"], "collection": "compared-minilm-graded", "measure": measure}
        own = api.ok("/explain", {**body, "max_links": 10_000})
        assert found[side]["score"] == pytest.approx(own["score"], abs=1e-6)
        assert special[side]["contribution"] == pytest.approx(own["special"], abs=1e-6)
        assert found[side]["tokens"] == own["b"]["tokens"]
        assert found["query"] == own["a"]
        for i, token in enumerate(own["a"]["tokens"]):
            links = [link for link in own["links"] if link["a"] == i]
            share = words[token["start"]][side]
            assert words[token["start"]]["text"] == token["text"]
            assert share["contribution"] == pytest.approx(sum(link["contribution"] for link in links), abs=1e-6)
            strongest = [(own["b"]["tokens"][link["b"]]["start"], link["contribution"]) for link in links[:3]]
            named = [(partner["start"], partner["contribution"]) for partner in share["partners"]]
            assert sorted(each for _, each in named) == pytest.approx(sorted(each for _, each in strongest), abs=1e-6)


@pytest.mark.parametrize("measure", ["rcmd_words", "cosine", "rcmd"])
def test_a_hybrid_difference_is_that_of_the_search(api: Api, measure: str) -> None:
    found_by = {"collection": "compared-minilm-graded", "measure": measure, "mode": "hybrid"}
    hits = {hit["id"]: hit for hit in api.hits(QUERY, **found_by)}
    assert hits.keys() == TEXTS.keys()
    for a, b in (("lost", "part"), ("part", "shop"), ("ja", "lost")):
        found = difference(api, a, b, measure=measure, mode="hybrid")
        terms = {part["text"]: part for part in found["parts"] if part["kind"] == "term"}
        for side, doc_id in (("a", a), ("b", b)):
            lexical = hits[doc_id]["lexical"]
            assert found[side]["score"] == pytest.approx(hits[doc_id]["score"], abs=1e-5)
            assert found[side]["bonus"] == pytest.approx(lexical["bonus"], abs=1e-9)
            assert found[side]["combined"] == pytest.approx(lexical["combined"], abs=1e-5)
            own = {term["term"]: term for term in lexical["terms"]}
            for name, part in terms.items():
                assert part[side]["contribution"] == pytest.approx(own[name]["bonus"] if name in own else 0, abs=1e-9)
                places = [[place["start"], place["end"]] for place in part[side]["partners"]]
                assert places == (own[name]["spans"] if name in own else [])
        plain = difference(api, a, b, measure=measure)
        assert (plain["a"]["bonus"], plain["mode"]) == (0.0, "vector")
        assert plain["difference"] == pytest.approx(hits[a]["score"] - hits[b]["score"], abs=1e-5)
        assert "term" not in {part["kind"] for part in plain["parts"]}


def test_the_best_passage_has_the_highest_sum_with_bonus(api: Api) -> None:
    """A passage about the violin has the best score, and that with the number the best bonus."""
    query = "violin E-4711"
    by_vector = difference(api, "serial", "long", "compared-cut", query, measure="rcmd")
    hybrid = difference(api, "serial", "long", "compared-cut", query, measure="rcmd", mode="hybrid")
    assert "E-4711" in hybrid["a"]["text"]
    assert "violin" in by_vector["a"]["text"]
    for mode, found in (("vector", by_vector), ("hybrid", hybrid)):
        for hit in api.hits(query, collection="compared-cut", measure="rcmd", mode=mode):
            [own] = [found[side] for side in ("a", "b") if found[side]["id"] == hit["id"]]
            combined = hit["lexical"]["combined"] if hit["lexical"] else hit["score"]
            assert own["combined"] == pytest.approx(combined, abs=1e-5)
            assert (own["passage"]["start"], own["passage"]["end"]) == (hit["start"], hit["end"])
            assert own["text"] == hit["text"]


def test_exchanged_documents_have_the_opposite_difference(api: Api) -> None:
    found, other = (difference(api, *pair, mode="hybrid") for pair in (("lost", "part"), ("part", "lost")))
    assert other["difference"] == -found["difference"]
    assert (other["a"], other["b"]) == (found["b"], found["a"])
    parts = {(part["kind"], part["text"], part["start"]): part["difference"] for part in other["parts"]}
    for part in found["parts"]:
        assert parts[part["kind"], part["text"], part["start"]] == -part["difference"]


def test_both_methods_and_formats_answer_the_same(http: httpx2.Client, api: Api) -> None:
    params = {"query": QUERY, "a": "lost", "b": "part", "collection": "compared-minilm-graded", "mode": "hybrid"}
    got = http.get("/explain/difference", params=params)
    assert got.json() == difference(api, "lost", "part", mode="hybrid")
    assert got.headers["vary"] == "accept"
    page = http.get("/explain/difference", params=params, headers={"accept": "text/html"})
    assert page.text == http.get("/explain/difference", params={**params, "format": "html"}).text
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["vary"] == "accept"
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    shown = f"{abs(got.json()['difference']):.3f}"
    assert re.search(rf"<h1>[AB] stands {re.escape(shown[:-1])}\d+ above [AB]", page.text)
    refused = http.get("/explain/difference", params=params, headers={"accept": "image/png"})
    assert code_of(refused) == (406, "not_acceptable")
    for documents, said in (
        ({"b": "none"}, "no document 'none'"),
        ({"a": "no", "b": "none"}, "no document 'no' and no document 'none'"),
        ({"b": "lost"}, "same document"),
    ):
        assert said in http.get("/explain/difference", params=params | documents).json()["detail"]
