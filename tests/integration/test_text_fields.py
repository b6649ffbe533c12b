"""Metadata fields that are searched as text, with weights, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

DOCUMENTS: dict[str, dict[str, str]] = {
    "parcel": {"title": "Lost parcel", "text": "We send you another one free of charge. Write to us within a week."},
    "lamp": {"title": "Broken lamps", "text": "A lamp that arrives broken is replaced. Keep the parcel's box."},
    "hours": {"title": "Opening hours", "text": "The shop is open from nine to five, and closed on Sunday."},
    "untitled": {"text": "A parcel that is lost is replaced."},
}
QUERY = "my lost parcel"
FIELDS = ("title",)


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    """The parts of the documents in `titled` are documents of the collection `parts`."""
    api = Api(http)
    api.collection("titled", text_fields=["title"], tokens="int8")
    api.collection("parts", tokens="int8")
    api.store("titled", *(as_document(name) for name in DOCUMENTS))
    parts = [(name, field, text) for name, fields in DOCUMENTS.items() for field, text in fields.items()]
    api.store("parts", *({"id": f"{name}.{field}", "text": text} for name, field, text in parts))
    return api


def as_document(name: str, **changes: str) -> dict[str, Any]:
    fields = DOCUMENTS[name] | changes
    return {
        "id": name,
        "text": fields["text"],
        "metadata": {"views": 3, **{k: fields[k] for k in FIELDS if k in fields}},
    }


def part_scores(api: Api, query: str = QUERY, **options: object) -> dict[str, dict[str, float]]:
    """Scores of the parts of each document, by the collection that has them as documents."""
    scores: dict[str, dict[str, float]] = {name: {} for name in DOCUMENTS}
    for hit in api.hits(query, collection="parts", k=20, **options):
        name, field = hit["id"].split(".")
        scores[name][field] = hit["score"]
    return scores


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "rcmd_words"])
def test_a_document_is_as_similar_as_its_best_part(api: Api, measure: str) -> None:
    expected = part_scores(api, measure=measure, mode="vector")
    found = api.hits(QUERY, collection="titled", measure=measure, mode="vector", passages=2)
    assert {hit["id"]: hit["score"] for hit in found} == pytest.approx(
        {name: max(scores.values()) for name, scores in expected.items()}, abs=1e-4
    )
    for hit in found:
        best = max(expected[hit["id"]], key=lambda field: expected[hit["id"]][field])
        assert (hit["field"] or "text", hit["text"]) == (best, DOCUMENTS[hit["id"]][best])
        assert {each["field"] or "text" for each in hit["passages"]} == DOCUMENTS[hit["id"]].keys()
        for each in (hit, *hit["passages"]):
            whole = DOCUMENTS[hit["id"]][each["field"] or "text"]
            assert each["text"] == whole[each["start"] : each["end"]]
    assert "title" in {hit["field"] for hit in found}


def test_terms_of_a_title_are_found_and_marked_there(api: Api) -> None:
    [hit] = api.hits("opening", collection="titled", mode="lexical", highlight=True)
    [term] = hit["lexical"]["terms"]
    [(start, end)] = term["spans"]
    assert (hit["id"], hit["field"], hit["text"][start:end]) == ("hours", "title", "Opening")
    marked = hit["highlight"]
    assert (marked["text"], marked["start"], marked["cut_start"], marked["cut_end"]) == (
        "Opening hours",
        0,
        False,
        False,
    )
    assert [hit["text"][each["start"] : each["end"]] for each in marked["marks"]]
    assert api.hits("opening", collection="parts", mode="lexical")[0]["id"] == "hours.title"
    suggested = api.ok("/suggest", {"query": "openi", "collection": "titled"})["suggestions"]
    assert [each["text"] for each in suggested] == ["Opening"]


def test_explanations_say_which_field_they_read(api: Api) -> None:
    body = {"a": "opening hours", "id": "hours", "collection": "titled", "measure": "rcmd_words"}
    explained = api.ok("/explain", body)
    assert explained["passage"] == {"start": 0, "end": 13, "field": "title"}
    assert explained["b"]["text"] == "Opening hours"
    compared = {"query": "opening hours", "a": "hours", "b": "untitled", "collection": "titled"}
    difference = api.ok("/explain/difference", compared)
    assert difference["a"]["passage"]["field"] == "title"
    assert difference["b"]["passage"] is None
    [hit] = api.hits("opening hours", collection="titled", measure="rcmd_words", explain=True, k=1)
    assert hit["explanation"]["b"]["text"] == hit["text"] == "Opening hours"


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "negative_euclidean"])
@pytest.mark.parametrize("weights", [{"title": 3.0}, {"title": 0.0}, {"text": 0.5, "title": 1.0}])
def test_weights_choose_passages_and_order(api: Api, measure: str, weights: dict[str, float]) -> None:
    def value(field: str, score: float) -> float:
        return score + (weights.get(field, 1.0) - 1.0) * abs(score)

    values = {
        name: max((value(field, score), field) for field, score in scores.items())
        for name, scores in part_scores(api, measure=measure, mode="vector").items()
    }
    found = api.hits(QUERY, collection="titled", measure=measure, mode="vector", field_weights=weights)
    assert [hit["id"] for hit in found] == sorted(values, key=lambda name: -values[name][0])
    for hit in found:
        [part] = hit["boosts"]
        assert part["field"] == (hit["field"] or "text") == values[hit["id"]][1]
        assert hit["score"] + part["bonus"] == pytest.approx(values[hit["id"]][0], abs=1e-4)


def test_score_terms_boosts_and_weight_sum_to_the_order(api: Api) -> None:
    options = {
        "collection": "titled",
        "field_weights": {"title": 2},
        "boosts": [{"field": "views", "full_at": 9, "weight": 0.1}],
    }
    for explain in (False, True):
        found = api.hits(QUERY, **options, explain=explain, measure="rcmd_words")
        combined = [hit["lexical"]["combined"] for hit in found]
        assert combined == sorted(combined, reverse=True)
        for hit in found:
            weighted, views = (each["bonus"] for each in hit["boosts"])
            own = hit["score"] + hit["lexical"]["bonus"]
            assert weighted == pytest.approx(own if hit["field"] else 0.0, abs=1e-3)
            assert hit["lexical"]["combined"] == pytest.approx(own + weighted + views)


def test_a_title_changes_with_its_document(api: Api, http: httpx2.Client) -> None:
    api.collection("changing", text_fields=["title"])
    api.store("changing", *(as_document(name) for name in DOCUMENTS))
    stored = api.ok("/collections/changing/documents", {"documents": [as_document("parcel", title="A stolen bicycle")]})
    assert stored["usage"]["tokens"] > 0, "the title is encoded again"
    assert api.hits("stolen bicycle", collection="changing", k=1)[0]["text"] == "A stolen bicycle"
    again = api.ok("/collections/changing/documents", {"documents": [as_document("parcel", title="A stolen bicycle")]})
    assert again["usage"]["tokens"] == 0
    path = "/collections/changing/documents"
    for change in ({"metadata": {"title": "Other"}}, {"remove": ["title"]}):
        refused = http.patch(path, json={"documents": [{"id": "hours", "metadata": {}, **change}]})
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "text_field")
    allowed = http.patch(
        path, json={"documents": [{"id": "hours", "metadata": {"views": 5, "title": "Opening hours"}}]}
    )
    assert allowed.status_code == 200, allowed.text
    assert api.get("/collections/changing/documents/hours")["metadata"] == {"views": 5, "title": "Opening hours"}


def test_a_reembedding_keeps_text_fields(api: Api, http: httpx2.Client) -> None:
    api.collection("again", text_fields=["title"])
    api.store("again", *(as_document(name) for name in DOCUMENTS))
    refused = http.put("/collections/again/reembedding", json={"passages": "none"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/passages")
    assert http.put("/collections/again/reembedding", json={"passages": {"tokens": 16}}).status_code == 200
    assert api.ok("/collections/again/reembedding/step", {})["left"] == 0
    api.ok("/collections/again/reembedding/switch", {})
    shown = api.get("/collections/again")
    assert (shown["text_fields"], shown["passages"]["tokens"]) == (["title"], 16)
    hit = api.hits("opening hours", collection="again", k=1)[0]
    assert (hit["id"], hit["field"], hit["text"]) == ("hours", "title", "Opening hours")


@pytest.mark.parametrize(
    "settings",
    [
        {"text_fields": ["title"], "passages": "none"},
        {"text_fields": ["title", "title"]},
        {"text_fields": ["text"]},
        {"text_fields": [""]},
        {"text_fields": "title"},
        {"text_fields": [f"field{i}" for i in range(11)]},
    ],
)
def test_unsound_text_fields_are_refused(http: httpx2.Client, settings: dict[str, Any]) -> None:
    assert http.put("/collections/unsound", json=settings).status_code == 422
    assert http.get("/collections/unsound").status_code == 404


@pytest.mark.parametrize(
    "options",
    [
        {"field_weights": {"body": 2}},
        {"field_weights": {"title": -1}},
        {"field_weights": {"title": 11}},
        {"field_weights": {"title": 2}, "mode": "lexical"},
        {"field_weights": {"title": 2}, "collection": "parts"},
    ],
)
def test_unsound_weights_are_refused(api: Api, options: dict[str, Any]) -> None:
    answer = api.http.post("/search", json={"query": QUERY, "collection": "titled", **options})
    assert answer.status_code == 422, answer.text


def test_fields_without_a_string_are_not_searched(api: Api) -> None:
    api.collection("odd", text_fields=["title", "summary"])
    odd = [None, 3, ["Lost parcel"], {"a": "Lost parcel"}, "", " ", "🙂"]
    api.store("odd", *({"id": str(i), "text": "Bread.", "metadata": {"summary": each}} for i, each in enumerate(odd)))
    found = api.hits("lost parcel", collection="odd", passages=3, k=20)
    assert len(found) == len(odd)
    assert {each["field"] for hit in found for each in hit["passages"] if hit["id"] != "6"} == {None}
