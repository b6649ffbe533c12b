"""POST /rerank, /v1/rerank and /v2/rerank: one answer for clients of several APIs."""

from __future__ import annotations

from itertools import pairwise
from math import fsum
from typing import Any

import pytest

from tests.integration.conftest import Api, total

QUERY = "my parcel never came"
DOCUMENTS = [
    "Return shoes within 30 days of delivery.",
    "Track a shipment with its number if your package did not arrive.",
    "Gift cards cannot be exchanged for cash.",
    "parcel",
]


def results(api: Api, path: str = "/v2/rerank", **fields: Any) -> list[Any]:
    found: list[Any] = api.ok(path, {"query": QUERY, "documents": DOCUMENTS, **fields})["results"]
    return found


def order(found: list[Any]) -> list[int]:
    return [each["index"] for each in found]


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_the_answer_has_the_fields_of_every_api(api: Api, path: str) -> None:
    answer = api.ok(path, {"query": QUERY, "documents": DOCUMENTS, "model": "minilm-graded", "top_n": 2})
    assert (answer["object"], answer["model"], answer["measure"]) == ("rerank", "minilm-graded", "rcmd1_words")
    assert answer["meta"]["api_version"] == {"version": "1" if path == "/v1/rerank" else "2"}
    assert answer["meta"]["billed_units"] == {"search_units": 1}
    tokens = answer["meta"]["tokens"]["input_tokens"]
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert tokens > 40
    assert "warnings" not in answer["meta"]
    first, second = answer["results"]
    assert (first["index"], first["document"]) == (1, {"text": DOCUMENTS[1]})
    assert 1 >= first["relevance_score"] > second["relevance_score"] >= 0
    assert first["relevance_score"] == pytest.approx((first["raw_score"] + 1) / 2)


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "rcmd1", "rcmd1_words", "word_movers", "soft_cardinality"])
def test_scores_are_those_of_similarity_whatever_the_others(api: Api, measure: str) -> None:
    found = results(api, measure=measure)
    expected = api.scores(*((QUERY, text) for text in DOCUMENTS), measure=measure)
    assert [each["raw_score"] for each in found] == pytest.approx(sorted(expected, reverse=True), abs=1e-5)
    assert [each["raw_score"] for each in found] == pytest.approx([expected[i] for i in order(found)], abs=1e-5)
    relevance = [each["relevance_score"] for each in found]
    assert relevance == sorted(relevance, reverse=True)
    assert 0 <= relevance[-1] <= relevance[0] <= 1
    alone = [results(api, documents=[DOCUMENTS[i]], measure=measure)[0]["relevance_score"] for i in order(found)]
    assert relevance == pytest.approx(alone, abs=1e-5)


def test_there_are_at_most_as_many_results_as_documents(api: Api) -> None:
    whole = results(api)
    assert sorted(order(whole)) == [0, 1, 2, 3]
    for top in (0, None, 4, 100):
        assert results(api, top_n=top) == whole
    assert results(api, top_n=3) == whole[:3]
    assert order(results(api, documents=["b", "parcel", "b", "parcel", "b"])) == [1, 3, 0, 2, 4], "equal scores"


def test_a_thousand_documents_are_one_request(api: Api) -> None:
    documents = [f"story number {i}" for i in range(999)] + [QUERY]
    found = results(api, documents=documents, return_documents=False)
    assert (len(found), found[0]["index"]) == (1000, 999)
    assert found[0]["relevance_score"] == pytest.approx(1.0, abs=1e-5)
    assert "document" not in found[0]


def test_documents_without_text_are_last_with_a_warning(api: Api) -> None:
    body = {"query": QUERY, "documents": ["", DOCUMENTS[1], " \n", "\u200b"]}
    for measure in ("rcmd1_words", "word_movers"):
        answer = api.ok("/v2/rerank", {**body, "measure": measure})
        assert order(answer["results"]) == [1, 0, 2, 3]
        assert [each["relevance_score"] for each in answer["results"][1:]] == [0, 0, 0]
        assert not any("raw_score" in each for each in answer["results"][1:])
        warned = [each.split(":")[0] for each in answer["meta"]["warnings"]]
        assert warned == ["/documents/0", "/documents/2", "/documents/3"]
    empty = results(api, documents=["", " "], relevant_spans={}, explain=True)
    assert [each["relevance_score"] for each in empty] == [0, 0]
    texts = {"query": QUERY, "texts": ["", *DOCUMENTS], "raw_scores": True, "measure": "word_movers"}
    ranks = api.ok("/rerank", texts)
    assert ranks[-1]["index"] == 0
    assert all(a["score"] >= b["score"] for a, b in pairwise(ranks))


def test_objects_are_read_by_their_text_or_rank_fields(api: Api) -> None:
    as_objects = [{"text": text, "id": i} for i, text in enumerate(DOCUMENTS)]
    assert results(api, documents=as_objects) == results(api)
    fields = [{"title": "Lost parcels", "year": 2026, "note": "x"}, {"year": [1]}, "year: 7"]
    lines = ["title: Lost parcels\nyear: 2026", "year: [1]", "year: 7"]
    assert results(api, documents=fields, rank_fields=["title", "year"]) == results(api, documents=lines)
    assert results(api, query={"text": QUERY}, documents=DOCUMENTS[0]) == results(api, documents=DOCUMENTS[:1])


def test_long_documents_are_scored_by_their_best_passage(api: Api) -> None:
    filler = "The museum opens at nine. Guides wait at the gate. Children pay half. "
    text = filler * 30 + "🙂 If the parcel never came, ask the courier. " + filler * 30
    documents = [filler, text, filler * 60]
    body = {"query": QUERY, "documents": documents, "relevant_spans": {"threshold": 0}, "explain": True}
    answer = api.post("/v2/rerank", body)
    assert "x-semblance-truncated" not in answer.headers
    best, *_ = answer.json()["results"]
    read = best["explanation"]["b"]
    passage = text[read["read_start"] : read["read_end"]]
    assert (best["index"], read["truncated"], read["text"]) == (1, True, text)
    assert "the parcel never came" in passage
    assert len(passage) < 1200
    [alone] = results(api, documents=[passage])
    assert best["raw_score"] == pytest.approx(alone["raw_score"], abs=1e-6)
    spans = best["relevant_spans"]
    assert "parcel" in " ".join(text[span["start"] : span["end"]] for span in spans)
    assert fsum([best["rest"], *(span["score"] for span in spans)]) == pytest.approx(best["raw_score"], abs=1e-6)
    assert {"parcel", "courier"} <= {text[unit["start"] : unit["end"]] for unit in read["tokens"]}


def test_truncated_documents_are_named(api: Api) -> None:
    documents = ["short", "word " * 600, "x", "more " * 600]
    answer = api.post("/rerank", {"query": QUERY, "documents": documents, "truncation_direction": "left"})
    assert answer.headers["x-semblance-truncated"] == "2"
    [warning] = answer.json()["meta"]["warnings"]
    assert warning == "truncated to the 256 tokens that the model reads: documents 1, 3"
    ends = [
        results(api, "/rerank", documents=["parcel " + "word " * 600], truncation_direction=end)[0]["raw_score"]
        for end in ("Right", "left")
    ]
    assert ends[0] > ends[1] + 0.1


def test_relevant_spans_and_the_rest_sum_to_the_score(api: Api) -> None:
    text = "🙂 naïve 数据库: the parcel did not arrive, so we sent another parcel"
    [found] = results(api, documents=[text], relevant_spans={"mode": "enabled", "threshold": 0})
    spans = found["relevant_spans"]
    assert {"the parcel", "not arrive"} <= {text[span["start"] : span["end"]] for span in spans}
    assert fsum([found["rest"], *(span["score"] for span in spans)]) == pytest.approx(found["raw_score"], abs=1e-6)
    assert [span["score"] for span in spans] == sorted((span["score"] for span in spans), reverse=True)
    [one] = results(api, documents=[text], relevant_spans={"max_spans": 1})
    assert one["relevant_spans"] == spans[:1]
    [none] = results(api, documents=[text], relevant_spans={"threshold": 2})
    assert "relevant_spans" not in none
    assert none["rest"] == none["raw_score"] == found["raw_score"]
    [disabled] = results(api, documents=[text], relevant_spans={"mode": "disabled"})
    assert "rest" not in disabled


def test_explanations_are_those_of_explain(api: Api) -> None:
    for each in results(api, explain=True, top_n=2):
        alone = api.ok("/explain", {"a": QUERY, "b": DOCUMENTS[each["index"]], "measure": "rcmd1_words"})
        for key in ("a", "b", "granularity", "measure"):
            assert each["explanation"][key] == alone[key]
        assert total(each["explanation"]) == pytest.approx(each["raw_score"], abs=1e-6)


def test_the_form_of_tei(api: Api) -> None:
    body: dict[str, Any] = {"query": QUERY, "texts": DOCUMENTS}
    by_documents = results(api)
    expected = [{"index": each["index"], "score": pytest.approx(each["relevance_score"])} for each in by_documents]
    assert api.ok("/rerank", body) == expected
    more = {"return_text": True, "raw_scores": True, "truncation_direction": "Right", "top_n": 2, "truncate": False}
    assert api.ok("/rerank", {**body, **more}) == [
        {"index": each["index"], "score": pytest.approx(each["raw_score"]), "text": DOCUMENTS[each["index"]]}
        for each in by_documents[:2]
    ]
    refused = api.post("/rerank", {"query": QUERY, "texts": ["word " * 600], "truncate": False})
    assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")
    assert refused.json()["code"] == "text_too_long"


def test_the_form_of_voyage(api: Api) -> None:
    body = {"query": QUERY, "documents": DOCUMENTS, "model": "minilm", "truncation": True}
    answer = api.ok("/v1/rerank", {**body, "top_k": 2, "return_documents": True})
    assert answer["object"] == "list"
    assert answer["data"] == [
        {
            "index": each["index"],
            "relevance_score": pytest.approx(each["relevance_score"]),
            "document": DOCUMENTS[each["index"]],
        }
        for each in results(api, model="minilm", top_n=2)
    ]
    assert "document" not in api.ok("/v1/rerank", {**body, "top_k": None})["data"][0]
    jina = api.ok("/v1/rerank", body)  # which has `truncation` too
    assert order(jina["results"]) == order(results(api, model="minilm"))
    cohere = api.ok("/v2/rerank", {**body, "top_k": 2, "relevant_spans": {}, "measure": "rcmd1_words"})
    assert "relevant_spans" in cohere["results"][0]
    assert len(cohere["results"]) == 2


def test_requests_that_may_be_of_voyage_are_answered_for_all(api: Api) -> None:
    body = {"query": QUERY, "documents": DOCUMENTS, "model": "minilm"}
    for path in ("/rerank", "/v1/rerank"):
        answer = api.ok(path, {**body, "truncation": True})
        assert [each["index"] for each in answer["data"]] == order(answer["results"])
        assert [sorted(each) for each in answer["data"]] == [["index", "relevance_score"]] * 4
        shown = api.ok(path, {**body, "return_documents": True})
        assert [each["document"] for each in shown["data"]] == [each["document"]["text"] for each in shown["results"]]
        assert "data" not in api.ok(path, {**body, "top_n": 4})
    assert "data" not in api.ok("/v2/rerank", body)


def test_a_hundred_documents_are_a_search_unit(api: Api) -> None:
    for count, units in ((1, 1), (100, 1), (101, 2), (250, 3)):
        body = {"query": QUERY, "documents": [str(i) for i in range(count)], "return_documents": False, "top_n": 1}
        assert api.ok("/v2/rerank", body)["meta"]["billed_units"] == {"search_units": units}


def test_only_the_tokens_that_are_asked_for_are_read(api: Api) -> None:
    filler = "The museum opens at nine. Guides wait at the gate. Children pay half. "
    long = filler * 30 + "If the parcel never came, ask the courier. " + filler * 30
    short = "the museum opens at nine the parcel never came"
    documents = [filler, short, "", long]

    def scores(**fields: Any) -> dict[int, float]:
        return {each["index"]: each["raw_score"] for each in results(api, documents=documents, **fields)[:3]}

    whole, limited = scores(), scores(max_tokens_per_doc=7)
    alone = results(api, documents=["the museum opens at nine"])[0]["raw_score"]
    assert limited[1] == pytest.approx(alone, abs=1e-6), "five words between two special tokens"
    assert whole[1] > limited[1] + 0.1
    for fields in ({"max_tokens_per_doc": 512}, {"max_doc_length": 512}, {"max_chunks_per_doc": 2}):
        read = scores(**fields)
        assert [read[i] for i in (0, 1)] == pytest.approx([whole[i] for i in (0, 1)], abs=1e-6)
        assert whole[3] > read[3] + 0.1, "its best passage comes later"
    assert scores(max_tokens_per_doc=4096) == pytest.approx(whole, abs=1e-6)


def test_documents_that_are_not_read_whole_are_named(api: Api) -> None:
    body = {"query": QUERY, "documents": ["word. " * 900, "x", "one two three four"]}
    for fields, places in (
        ({"max_chunks_per_doc": 1}, "0"),
        ({"max_tokens_per_doc": 5}, "0, 2"),
        ({"max_tokens_per_doc": 300}, "0"),
    ):
        answer = api.post("/v2/rerank", body | fields)
        assert answer.headers["x-semblance-truncated"] == str(len(places.split()))
        assert answer.json()["meta"]["warnings"] == [f"truncated to fewer tokens: documents {places}"]
    refused = api.post("/v1/rerank", body | {"truncation": False})
    assert (refused.status_code, refused.json()["code"]) == (400, "text_too_long")


def test_other_fields_are_ignored_and_null_is_the_default(api: Api) -> None:
    ignored: dict[str, Any] = {"max_tokens_per_doc": None, "priority": 0, "user": "someone"}
    defaults: dict[str, Any] = dict.fromkeys(["model", "return_documents", "relevant_spans", "rank_fields"])
    assert results(api, **ignored, **defaults) == results(api)
