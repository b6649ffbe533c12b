"""Near-duplicates of a collection: by the command, as lines and as pages."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import NDJSON, Api, total
from tests.support.command_line import semblance

TEXTS = {
    "cat-1": "A cat sleeps on the warm windowsill.",
    "tax": "Income tax returns are due at the end of April.",
    "cat-2": "A cat is sleeping on the warm window sill.",
    "cat-3": "The cat is asleep on the warm windowsill.",
    "train": "The night train to Vienna leaves from platform nine.",
    "tax-again": "Income tax returns are due by the end of April.",
}


@pytest.fixture
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    api.collection("twins", model="minilm")
    api.store("twins", *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))
    return api


def test_json_groups_link_members_to_neighbors_above_the_threshold(api: Api, url: str) -> None:
    ran = semblance("duplicates", "twins", "--min-score", "0.8", "--json", "--explain", "--url", url)
    groups = [json.loads(line)["documents"] for line in ran.stdout.splitlines()]
    ids = sorted(sorted(each["id"] for each in group) for group in groups)
    assert ids == [["cat-1", "cat-2", "cat-3"], ["tax", "tax-again"]]
    for group in groups:
        first, *others = group
        assert (first["like"], first["score"]) == (None, None)
        for each in others:
            a, b = TEXTS[each["like"]], TEXTS[each["id"]]
            assert [each["score"]] == pytest.approx(api.scores((a, b), model="minilm"), abs=1e-5)
            assert each["score"] >= 0.8
            link = each["links"][0]
            assert (link["contribution"] > 0, link["a"] in a, link["b"] in b) == (True, True, True)


@pytest.mark.usefixtures("api")
def test_text_output_lists_groups_and_their_number(url: str) -> None:
    ran = semblance("duplicates", "twins", "--min-score", "0.95", "--measure", "rcmd", "--url", url)
    assert ran.stdout.startswith("Group 1: 2 documents\n  tax  Income tax")
    assert "documents: 1" in ran.stderr
    assert semblance("duplicates", "twins", "--url", url).stdout.count("Group") == 2, "0.9 by default"
    none = semblance("duplicates", "twins", "--min-score", "0.999", "--url", url)
    assert (none.returncode, none.stdout) == (0, "")
    assert "documents: 0" in none.stderr


@pytest.mark.usefixtures("api")
def test_errors_are_messages(url: str) -> None:
    for arguments, message in (
        (("nosuch", "--min-score", "0.9"), "no collection 'nosuch'"),
        (("twins", "--min-score", "0.9", "--measure", "nosuch"), "nosuch"),
        (("twins", "--min-score", "nan"), "--min-score"),
    ):
        ran = semblance("duplicates", *arguments, "--url", url)
        assert ran.returncode != 0
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


def lines_of(api: Api, **body: object) -> list[dict[str, Any]]:
    accept = {"accept": NDJSON["content-type"]}
    answer = api.http.post("/collections/twins/duplicates", json={"min_score": 0.8, **body}, headers=accept)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def ids_of(found: dict[str, Any]) -> list[list[str]]:
    return [[each["id"] for each in group["documents"]] for group in found["groups"]]


def test_groups_come_as_lines_that_end_with_the_outcome(api: Api) -> None:
    found, done = lines_of(api, explain=True, measure="rcmd")
    assert (done["done"], done["groups"], done["cursor"], done["measure"]) == (True, 2, None, "rcmd")
    assert found["checked"] == 6
    for group in found["groups"]:
        for each in group["documents"][1:]:
            why = each["explanation"]
            assert total(why) == pytest.approx(why["score"], abs=1e-6)
            assert why["score"] == pytest.approx(each["score"], abs=1e-5)
            assert (why["a"]["text"], why["b"]["text"]) == (TEXTS[each["like"]], each["text"])
    [tax] = [group["documents"][1] for group in found["groups"] if group["documents"][0]["id"] == "tax"]
    assert (tax["only_here"], tax["only_there"]) == ([], []), "function words alone differ"


def test_pages_and_lines_go_on_at_their_cursor(api: Api) -> None:
    found, done = lines_of(api, explain=True)
    address = "/collections/twins/duplicates"
    page = api.ok(address, {"min_score": 0.8, "explain": True})
    assert (page["groups"], page["checked"], page["cursor"]) == (found["groups"], 6, None)
    assert all(page[key] == done[key] for key in ("model", "space", "measure"))
    [first, more] = lines_of(api, limit=2)
    assert (ids_of(first)[0][0], first["checked"]) == ("cat-1", 2)
    [rest, done] = lines_of(api, cursor=more["cursor"])
    assert ([group[0] for group in ids_of(rest)], rest["checked"], done["cursor"]) == (["tax"], 4, None)
    page = api.ok(address, {"min_score": 0.8, "limit": 2})
    last = api.ok(address, {"min_score": 0.8, "limit": 9, "cursor": page["cursor"]})
    assert (ids_of(page), ids_of(last), last["checked"]) == (ids_of(first), ids_of(rest), 4)


def test_duplicates_are_found_among_documents_that_match(api: Api) -> None:
    api.store("twins", {"id": "cat-2", "text": TEXTS["cat-2"], "metadata": {"lang": "en"}})
    found, _ = lines_of(api, filter={"not": {"lang": "en"}})
    assert ids_of(found) == [["cat-1", "cat-3"], ["tax", "tax-again"]]
    [cats, _] = lines_of(api)[0]["groups"]
    metadata = {each["id"]: each["metadata"] for each in cats["documents"]}
    assert metadata == {"cat-1": {}, "cat-2": {"lang": "en"}, "cat-3": {}}
    [empty] = lines_of(api, filter={"lang": "fr"})
    assert (empty["done"], empty["groups"]) == (True, 0)


def test_codes_and_words_that_differ_are_named(api: Api) -> None:
    texts = {"a": "<b>The pump</b> shows error E-117 after a minute.", "b": "The pump shows error E-118 after an hour."}
    api.store("twins", *({"id": doc_id, "text": text} for doc_id, text in texts.items()))
    found, _ = lines_of(api, min_score=0.7)
    [pump] = [group["documents"][1] for group in found["groups"] if group["documents"][0]["id"] == "a"]
    assert (pump["only_here"], pump["only_there"]) == (["E-118", "hour"], ["b", "E-117", "minute"])
    assert pump["in_both"] == ["pump", "shows", "error", "after"]


def test_a_long_document_is_no_duplicate_of_its_part(api: Api) -> None:
    api.collection("twins")
    harbor, bread = "No ship leaves the foggy harbor today. " * 30, "Bakers bake their bread late at night. " * 30
    texts = {"a": harbor + bread, "b": harbor + bread + "End.", "part": harbor}
    api.store("twins", *({"id": doc_id, "text": text} for doc_id, text in texts.items()))
    for measure in ("cosine", "rcmd"):
        found, _ = lines_of(api, min_score=0.95, measure=measure)
        assert ids_of(found) == [["a", "b"]]


def test_similar_documents_are_reported_and_stored(api: Api) -> None:
    documents = [{"id": "cat-4", "text": TEXTS["cat-1"]}, {"id": "ship", "text": "No ship leaves the harbor."}]
    body = {"documents": documents, "if_similar": {"min_score": 0.8, "most": 2}}
    answer = api.ok("/collections/twins/documents", body)
    nearest = answer["similar"][0]
    assert (nearest["id"], nearest["like"], nearest["score"]) == ("cat-4", "cat-1", pytest.approx(1, abs=1e-6))
    assert (len(answer["similar"]), answer["upserted"]) == (2, 2)
    assert api.get("/collections/twins")["count"] == 8
    assert api.ok("/collections/twins/documents", {"documents": documents})["similar"] is None
