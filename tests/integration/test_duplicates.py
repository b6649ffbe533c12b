"""`semblance duplicates` on a running service."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import Api
from tests.support.command_line import semblance

TEXTS = {
    "cat-1": "A cat sleeps on the warm windowsill.",
    "tax": "Income tax returns are due at the end of April.",
    "cat-2": "A cat is sleeping on the warm window sill.",
    "cat-3": "The cat is asleep on the warm windowsill.",
    "train": "The night train to Vienna leaves from platform nine.",
    "tax-again": "Income tax returns are due by the end of April.",
}


def fill(api: Api, collection: str) -> None:
    api.collection(collection, model="minilm")
    api.store(collection, *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))


def test_json_groups_link_members_to_neighbors_above_the_threshold(api: Api, url: str) -> None:
    fill(api, "twins")
    ran = semblance("duplicates", "twins", "--threshold", "0.8", "--json", "--explain", "--url", url)
    groups = [json.loads(line)["documents"] for line in ran.stdout.splitlines()]
    ids = sorted(sorted(each["id"] for each in group) for group in groups)
    assert ids == [["cat-1", "cat-2", "cat-3"], ["tax", "tax-again"]]
    for group in groups:
        first, *others = group
        assert (first["like"], first["score"]) == (None, None)
        for each in others:
            pair = {"a": TEXTS[each["like"]], "b": TEXTS[each["id"]]}
            [score] = api.ok("/similarity", {"pairs": [pair], "model": "minilm"})["scores"]
            assert abs(each["score"] - score) < 1e-5
            assert each["score"] >= 0.8
            assert each["links"][0]["contribution"] > 0
            assert each["links"][0]["a"] in pair["a"]
            assert each["links"][0]["b"] in pair["b"]


def test_text_output_lists_groups_and_their_number(api: Api, url: str) -> None:
    fill(api, "readable")
    ran = semblance("duplicates", "readable", "--threshold", "0.95", "--measure", "rcmd", "--url", url)
    assert ran.stdout.startswith("Group 1: 2 documents\n  tax  Income tax")
    assert "documents: 1" in ran.stderr
    none = semblance("duplicates", "readable", "--threshold", "0.999", "--url", url)
    assert (none.returncode, none.stdout) == (0, "")
    assert "documents: 0" in none.stderr


def test_errors_are_messages(api: Api, url: str) -> None:
    fill(api, "refused")
    for arguments, message in (
        (("nosuch", "--threshold", "0.9"), "no collection 'nosuch'"),
        (("refused", "--threshold", "0.9", "--measure", "nosuch"), "nosuch"),
        (("refused",), "--threshold"),
    ):
        ran = semblance("duplicates", *arguments, "--url", url)
        assert ran.returncode != 0
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


def lines_of(api: Api, **body: object) -> list[dict[str, Any]]:
    accept = {"accept": "application/x-ndjson"}
    answer = api.http.post("/collections/twins/duplicates", json=body, headers=accept)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_groups_come_as_lines_that_end_with_the_outcome(api: Api) -> None:
    fill(api, "twins")
    found, done = lines_of(api, min_score=0.8, explain=True, measure="rcmd")
    assert (done["done"], done["groups"], done["cursor"], done["measure"]) == (True, 2, None, "rcmd")
    assert found["checked"] == 6
    for group in found["groups"]:
        for each in group["documents"][1:]:
            why = each["explanation"]
            total = sum(link["contribution"] for link in why["links"]) + why["special"] + why["omitted"]
            assert abs(total - why["score"]) < 1e-6
            assert abs(why["score"] - each["score"]) < 1e-5
            assert (why["a"]["text"], why["b"]["text"]) == (TEXTS[each["like"]], each["text"])


def test_a_search_goes_on_at_its_cursor(api: Api) -> None:
    fill(api, "twins")
    [first, more] = lines_of(api, min_score=0.8, limit=2)
    assert (first["groups"][0]["documents"][0]["id"], first["checked"]) == ("cat-1", 2)
    [rest, done] = lines_of(api, min_score=0.8, cursor=more["cursor"])
    assert ([each["documents"][0]["id"] for each in rest["groups"]], rest["checked"]) == (["tax"], 4)
    assert done["cursor"] is None


def test_pages_have_the_groups_of_the_lines(api: Api) -> None:
    fill(api, "twins")
    found, done = lines_of(api, min_score=0.8, explain=True)
    page = api.ok("/collections/twins/duplicates", {"min_score": 0.8, "explain": True})
    assert (page["groups"], page["checked"], page["cursor"]) == (found["groups"], 6, None)
    assert all(page[key] == done[key] for key in ("model", "space", "measure"))
    first = api.ok("/collections/twins/duplicates", {"min_score": 0.8, "limit": 2})
    rest = api.ok("/collections/twins/duplicates", {"min_score": 0.8, "limit": 9, "cursor": first["cursor"]})
    assert [len(first["groups"]), len(rest["groups"]), rest["checked"]] == [1, 1, 4]


def test_duplicates_are_found_among_documents_that_match(api: Api) -> None:
    fill(api, "twins")
    api.store("twins", {"id": "cat-2", "text": TEXTS["cat-2"], "metadata": {"lang": "en"}})
    found, _ = lines_of(api, min_score=0.8, filter={"not": {"lang": "en"}})
    ids = [[each["id"] for each in group["documents"]] for group in found["groups"]]
    assert ids == [["cat-1", "cat-3"], ["tax", "tax-again"]]
    [empty] = lines_of(api, min_score=0.8, filter={"lang": "fr"})
    assert (empty["done"], empty["groups"]) == (True, 0)


def test_a_long_document_is_no_duplicate_of_its_part(api: Api) -> None:
    api.collection("twins")
    harbor, bread = "No ship leaves the foggy harbor today. " * 30, "Bakers bake their bread late at night. " * 30
    api.store("twins", {"id": "a", "text": harbor + bread}, {"id": "b", "text": harbor + bread + "End."})
    api.store("twins", {"id": "part", "text": harbor})
    for measure in ("cosine", "rcmd"):
        found, _ = lines_of(api, min_score=0.95, measure=measure)
        assert [[each["id"] for each in group["documents"]] for group in found["groups"]] == [["a", "b"]]


def test_similar_documents_are_reported_and_stored(api: Api) -> None:
    fill(api, "twins")
    documents = [{"id": "cat-4", "text": TEXTS["cat-1"]}, {"id": "ship", "text": "No ship leaves the harbor."}]
    body = {"documents": documents, "if_similar": {"min_score": 0.8, "most": 2}}
    answer = api.ok("/collections/twins/documents", body)
    assert (answer["similar"][0]["id"], answer["similar"][0]["like"]) == ("cat-4", "cat-1")
    assert (len(answer["similar"]), answer["upserted"]) == (2, 2)
    assert answer["similar"][0]["score"] == pytest.approx(1, abs=1e-6)
    assert api.http.get("/collections/twins").json()["count"] == 8
    assert api.ok("/collections/twins/documents", {"documents": documents})["similar"] is None


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "missing_field"),
        ({"min_score": "high"}, 422, "invalid_value"),
        ({"min_score": 0.9, "cursor": "x"}, 422, "bad_cursor"),
        ({"min_score": 0.9, "limit": 0}, 422, "out_of_range"),
        ({"min_score": 0.9, "measure": "none"}, 422, "unknown_measure"),
        ({"min_score": 0.9, "measure": "soft_cardinality", "explain": True}, 422, "not_explainable"),
    ],
)
def test_bad_searches_for_duplicates_are_refused(api: Api, body: dict[str, object], status: int, code: str) -> None:
    answer = api.http.post("/collections/default/duplicates", json=body)
    codes = {answer.json().get("code"), *(each["code"] for each in answer.json().get("errors", ()))}
    assert (answer.status_code, code in codes) == (status, True), answer.text
