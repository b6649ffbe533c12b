"""Documents that are cut into passages: scores, offsets, counts, settings and migration."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def _stored(api: Api) -> None:
    """The passages of the first document of the collection `cut` are documents of the collection `parts`."""
    api.collection("cut", passages={"tokens": 40, "overlap": 0}, tokens="int8")
    api.collection("parts", passages="none", tokens="int8")
    api.store("cut", {"id": "a", "text": TEXT}, {"id": "b", "text": "A violin."}, {"id": "c", "text": TEXT[::-1]})
    [found] = [hit for hit in api.hits(QUERY, collection="cut", passages=20, k=3) if hit["id"] == "a"]
    spans = sorted((each["start"], each["end"]) for each in found["passages"])
    assert len(spans) == 20
    api.store("parts", *({"id": str(i), "text": TEXT[start:end]} for i, (start, end) in enumerate(spans)))


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize("measure", ["cosine", "rcmd", "rcmd_words"])
def test_a_score_is_that_of_the_best_passage(api: Api, measure: str) -> None:
    nearest = api.hits(QUERY, collection="parts", k=3)
    rescored = api.hits(QUERY, collection="parts", k=20, measure=measure)
    expected = {each["text"]: each["score"] for each in rescored if each["id"] in {hit["id"] for hit in nearest}}
    [found] = [hit for hit in api.hits(QUERY, collection="cut", measure=measure, passages=3, k=3) if hit["id"] == "a"]
    assert {each["text"]: each["score"] for each in found["passages"]} == pytest.approx(expected, abs=1e-5)
    scores = [each["score"] for each in found["passages"]]
    assert scores == sorted(scores, reverse=True)
    best = found["passages"][0]
    assert (found["score"], found["text"]) == (best["score"], best["text"])
    assert (found["start"], found["end"]) == (best["start"], best["end"])


@pytest.mark.usefixtures("_stored")
def test_offsets_count_code_points_of_the_document(api: Api) -> None:
    for query in (QUERY, "荷物", "🙂"):
        for hit in api.hits(query, collection="cut", passages=20):
            text = api.get(f"/collections/cut/documents/{hit['id']}")["text"]
            for each in hit["passages"]:
                assert each["text"] == text[each["start"] : each["end"]] == each["text"].strip()
            assert not hit["truncated"]


def test_counts_and_pages_speak_of_documents(api: Api, http: httpx2.Client) -> None:
    def ids(**options: object) -> list[str]:
        return sorted(hit["id"] for hit in api.hits(QUERY, collection="counted", **options))

    api.collection("counted", passages={"tokens": 40})
    short = {"id": "b", "text": "Short.", "metadata": {"n": 2}}
    api.store("counted", {"id": "a", "text": TEXT, "metadata": {"n": 1}}, short)
    shown = api.get("/collections/counted")
    assert (shown["count"], shown["truncated"], shown["passages"]["tokens"]) == (2, 0, 40)
    assert shown["passages"]["count"] > 40
    assert ids() == ["a", "b"]
    assert ids(filter={"n": {"gte": 2}}) == ["b"]
    api.store("counted", {"id": "a", "text": TEXT, "metadata": {"n": 3}})
    assert ids(filter={"n": {"gte": 2}}) == ["a", "b"]
    api.store("counted", {"id": "a", "text": "Short, too."})
    assert api.get("/collections/counted")["passages"]["count"] == 2
    assert [each["id"] for each in api.get("/collections/counted/documents")["documents"]] == ["a", "b"]
    api.store("counted", {"id": "a", "text": TEXT})
    http.delete("/collections/counted/documents/a").raise_for_status()
    assert ids() == ["b"]


def test_truncated_documents_are_migrated_in_the_background(api: Api, url: str) -> None:
    api.collection("former", passages="none", tokens="int8")
    long = "Word after word fills the page. " * 200 + "The giraffe drinks at the waterhole."
    api.store("former", {"id": "long", "text": long}, {"id": "short", "text": "A zebra."})
    assert api.get("/collections/former")["truncated"] == 1
    assert api.hits("a giraffe", collection="former")[0]["id"] == "short"
    ran = semblance("index", "reembed", "former", "--passages", "auto", "--url", url)
    assert ran.returncode == 0, ran.stderr
    assert "former now uses minilm-graded on passages of 200 tokens: 2 documents re-embedded" in ran.stderr
    shown = api.get("/collections/former")
    assert (shown["truncated"], shown["reembedding"], shown["passages"]["tokens"]) == (0, None, 200)
    hit = next(each for each in api.hits("a giraffe", collection="former") if each["id"] == "long")
    assert (hit["id"], hit["truncated"], "giraffe" in hit["text"]) == ("long", False, True)
    assert not api.get("/collections/former/documents/long")["truncated"]
    assert semblance("index", "reembed", "former", "--passages", "many", "--url", url).returncode == 2


@pytest.mark.usefixtures("_stored")
def test_an_explanation_of_a_document_is_of_its_best_passage(api: Api) -> None:
    found = api.hits(QUERY, collection="cut", measure="rcmd_words", explain=True, k=3)
    [hit] = [each for each in found if each["id"] == "a"]
    why = api.get("/explain", a=QUERY, id="a", collection="cut")
    place = {"start": hit["start"], "end": hit["end"], "field": None}
    assert (why["b"]["text"], why["passage"]) == (hit["text"], place)
    assert why["score"] == pytest.approx(hit["score"], abs=1e-5)
    assert api.get("/explain", a=QUERY, id="b", collection="cut")["passage"] is None


def test_a_passage_longer_than_a_text_may_be_is_searched(api: Api) -> None:
    """One word, however long, may be a single token."""
    api.collection("dumps")
    api.store("dumps", {"id": "dump", "text": "Dump: " + "0a1f" * 37_500})
    for options in ({"measure": "rcmd"}, {"explain": True}, {"highlight": True}, {"mode": "hybrid"}):
        [hit] = api.hits("a dump", collection="dumps", **options)
        assert hit["end"] == 150_006
    assert api.get("/explain", a="a dump", id="dump", collection="dumps")["b"]


def test_a_document_longer_than_a_text_may_be_is_stored(api: Api) -> None:
    api.collection("books")
    book = "The ship left the harbour at dawn, and the crew sang. " * 2000
    middle = len(book) // 2
    planted = "An invoice for the broken espresso machine is in the drawer."
    text = f"{book[:middle]}{planted} {book[middle:]}"
    api.store("books", {"id": "book", "text": text}, {"id": "note", "text": "Coffee."})
    found = api.hits("where is the bill for the coffee maker?", collection="books")
    [hit] = [each for each in found if each["id"] == "book"]
    assert planted in hit["text"]
