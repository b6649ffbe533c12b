"""Documents that are cut into passages: scores, offsets, counts, settings and migration."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api
from tests.support.command_line import semblance

TOPICS = ["parcel", "invoice", "garden", "violin", "harbour", "senate", "glacier", "bakery"]
SENTENCES = [
    f"Number {i} is about the {topic} 🙂 and how we reached it at {i} o'clock. " for i in range(9) for topic in TOPICS
]
TEXT = "".join(SENTENCES) + "荷物はどこですか。" * 20
QUERY = "when did the violin arrive?"


def hits(api: Api, collection: str, query: str = QUERY, **options: object) -> list[dict[str, Any]]:
    [result] = api.ok("/search", {"query": query, "collection": collection, **options})["results"]
    found: list[dict[str, Any]] = result["hits"]
    return found


@pytest.fixture(scope="module")
def _stored(api: Api) -> None:
    """The passages of the first document of the collection `cut` are documents of the collection `parts`."""
    api.collection("cut", passages={"tokens": 40, "overlap": 0}, tokens="int8")
    api.collection("parts", passages="none", tokens="int8")
    api.store("cut", {"id": "a", "text": TEXT}, {"id": "b", "text": "A violin."}, {"id": "c", "text": TEXT[::-1]})
    [found] = [hit for hit in hits(api, "cut", passages=20, k=3) if hit["id"] == "a"]
    spans = sorted((each["start"], each["end"]) for each in found["passages"])
    assert len(spans) == 20
    api.store("parts", *({"id": str(i), "text": TEXT[start:end]} for i, (start, end) in enumerate(spans)))


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize("measure", ["cosine", "rcmd", "rcmd_words"])
def test_a_score_is_that_of_the_best_passage(api: Api, measure: str) -> None:
    nearest = hits(api, "parts", k=3)
    rescored = hits(api, "parts", k=20, measure=measure)
    expected = {each["text"]: each["score"] for each in rescored if each["id"] in {hit["id"] for hit in nearest}}
    [found] = [hit for hit in hits(api, "cut", measure=measure, passages=3, k=3) if hit["id"] == "a"]
    assert {each["text"]: each["score"] for each in found["passages"]} == pytest.approx(expected, abs=1e-5)
    scores = [each["score"] for each in found["passages"]]
    assert scores == sorted(scores, reverse=True)
    best = found["passages"][0]
    assert (found["score"], found["text"]) == (best["score"], best["text"])
    assert (found["start"], found["end"]) == (best["start"], best["end"])


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize("query", [QUERY, "荷物", "🙂"])
def test_offsets_count_code_points_of_the_document(api: Api, query: str) -> None:
    for hit in hits(api, "cut", query, passages=20):
        text = api.http.get(f"/collections/cut/documents/{hit['id']}").json()["text"]
        for each in hit["passages"]:
            assert each["text"] == text[each["start"] : each["end"]] == each["text"].strip()
        assert not hit["truncated"]


def test_counts_and_pages_speak_of_documents(api: Api, http: httpx2.Client) -> None:
    api.collection("counted", passages={"tokens": 40})
    short = {"id": "b", "text": "Short.", "metadata": {"n": 2}}
    api.store("counted", {"id": "a", "text": TEXT, "metadata": {"n": 1}}, short)
    shown = http.get("/collections/counted").json()
    assert (shown["count"], shown["truncated"]) == (2, 0)
    assert shown["passages"]["tokens"] == 40
    assert shown["passages"]["count"] > 40
    assert [hit["id"] for hit in hits(api, "counted", k=10)] == ["a", "b"]
    assert [hit["id"] for hit in hits(api, "counted", filter={"n": {"gte": 2}})] == ["b"]
    api.store("counted", {"id": "a", "text": TEXT, "metadata": {"n": 3}})
    assert {hit["id"] for hit in hits(api, "counted", filter={"n": {"gte": 2}})} == {"a", "b"}
    api.store("counted", {"id": "a", "text": "Short, too."})
    assert http.get("/collections/counted").json()["passages"]["count"] == 2
    listed = http.get("/collections/counted/documents").json()["documents"]
    assert [each["id"] for each in listed] == ["a", "b"]
    api.store("counted", {"id": "a", "text": TEXT})
    http.delete("/collections/counted/documents/a").raise_for_status()
    assert [hit["id"] for hit in hits(api, "counted", k=10)] == ["b"]


def test_passages_that_a_model_cannot_read_are_refused(api: Api, http: httpx2.Client) -> None:
    http.delete("/collections/refused")
    for passages, code in (
        ({"tokens": 257}, "out_of_range"),
        ({"tokens": 15}, "out_of_range"),
        ({"tokens": 64, "overlap": 11}, "out_of_range"),
        ({"tokens": 64, "overlap": -1}, "out_of_range"),
        ({"overlap": 1}, "missing_field"),
        ({"tokens": 64, "size": 1}, "unknown_field"),
        ("sentences", "invalid_value"),
        (64, "invalid_value"),
    ):
        answer = http.put("/collections/refused", json={"passages": passages})
        assert answer.status_code == 422, (passages, answer.text)
        problem = answer.json()
        assert problem["code"] == code, (passages, answer.text)
        assert problem["errors"][0]["pointer"].startswith("/passages"), answer.text
    assert http.get("/collections/refused").status_code == 404
    api.collection("kept", passages={"tokens": 64, "overlap": 2})
    again = http.put("/collections/kept")
    assert (again.status_code, again.json()["passages"]) == (200, {"tokens": 64, "overlap": 2, "count": 0})
    assert http.put("/collections/kept", json={"passages": "none"}).json()["code"] == "collection_differs"
    for most, status in ((0, 422), (20, 200), (21, 422)):
        answer = http.post("/search", json={"query": "a", "collection": "kept", "passages": most})
        assert answer.status_code == status


def test_truncated_documents_are_migrated_in_the_background(api: Api, http: httpx2.Client, url: str) -> None:
    api.collection("former", passages="none", tokens="int8")
    long = "Word after word fills the page. " * 200 + "The giraffe drinks at the waterhole."
    api.store("former", {"id": "long", "text": long}, {"id": "short", "text": "A zebra."})
    assert http.get("/collections/former").json()["truncated"] == 1
    assert hits(api, "former", "a giraffe")[0]["id"] == "short"
    ran = semblance("index", "reembed", "former", "--passages", "auto", "--url", url)
    assert ran.returncode == 0, ran.stderr
    assert "former now uses minilm-words on passages of 200 tokens: 2 documents re-embedded" in ran.stderr
    shown = http.get("/collections/former").json()
    assert (shown["truncated"], shown["reembedding"], shown["passages"]["tokens"]) == (0, None, 200)
    hit = next(each for each in hits(api, "former", "a giraffe") if each["id"] == "long")
    assert (hit["id"], hit["truncated"], "giraffe" in hit["text"]) == ("long", False, True)
    assert not http.get("/collections/former/documents/long").json()["truncated"]
    assert semblance("index", "reembed", "former", "--passages", "many", "--url", url).returncode == 2


@pytest.mark.usefixtures("_stored")
def test_an_explanation_of_a_document_is_of_its_best_passage(api: Api, http: httpx2.Client) -> None:
    [hit] = [each for each in hits(api, "cut", measure="rcmd_words", explain=True, k=3) if each["id"] == "a"]
    why = http.get("/explain", params={"a": QUERY, "id": "a", "collection": "cut"}).json()
    assert (why["b"]["text"], why["passage"]) == (hit["text"], {"start": hit["start"], "end": hit["end"]})
    assert why["score"] == pytest.approx(hit["score"], abs=1e-5)
    assert http.get("/explain", params={"a": QUERY, "id": "b", "collection": "cut"}).json()["passage"] is None


def test_a_passage_longer_than_a_text_may_be_is_searched(api: Api, http: httpx2.Client) -> None:
    """One word, however long, may be a single token."""
    api.collection("dumps")
    api.store("dumps", {"id": "dump", "text": "Dump: " + "0a1f" * 37_500})
    for options in ({"measure": "rcmd"}, {"explain": True}, {"highlight": True}, {"mode": "hybrid"}):
        [hit] = hits(api, "dumps", "a dump", **options)
        assert hit["end"] == 150_006
    assert http.get("/explain", params={"a": "a dump", "id": "dump", "collection": "dumps"}).status_code == 200


def test_a_document_longer_than_a_text_may_be_is_stored(api: Api) -> None:
    api.collection("books")
    book = "The ship left the harbour at dawn, and the crew sang. " * 4000
    middle = len(book) // 2
    planted = "An invoice for the broken espresso machine is in the drawer."
    text = f"{book[:middle]}{planted} {book[middle:]}"
    api.store("books", {"id": "book", "text": text}, {"id": "note", "text": "Coffee."})
    [hit] = [each for each in hits(api, "books", "where is the bill for the coffee maker?") if each["id"] == "book"]
    assert planted in hit["text"]
