"""Glossaries of collections over HTTP: what a search finds, what it explains, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api

TEXTS = {
    "rma": "A return authorization is needed before you send the device back.",
    "device": "The device is sent to another country within five days.",
    "open": "The desk is open on Sunday.",
    "closed": "The desk is closed on Sunday.",
    "lamp": "The lamp of the red box shines.",
    "case": "服务器的电源坏了",
    "other": "明天下雨，请带伞",
}
GROUPS = [
    {"kind": "equal", "terms": ["RMA", "return authorization"]},
    {"kind": "equal", "terms": ["PSU", "电源"]},
    {"kind": "one_way", "terms": ["light"], "to": ["lamp"]},
    {"kind": "opposite", "terms": ["open", "opened"], "to": ["closed", "shut"]},
    {"kind": "ignored", "terms": ["could you please"]},
]


@pytest.fixture(scope="module")
def api(http: httpx2.Client) -> Api:
    api = Api(http)
    for name, settings in (("plain", {}), ("glossed", {}), ("coded", {"tokens": "int8"})):
        api.collection(name, **settings)
        api.store(name, *({"id": key, "text": text} for key, text in TEXTS.items()))
        if name != "plain":
            put(api, name, GROUPS)
    return api


def put(api: Api, name: str, groups: list[dict[str, Any]]) -> Any:
    answer = api.http.put(f"/collections/{name}/glossary", json={"groups": groups})
    assert answer.status_code == 200, answer.text
    return answer.json()


def search(api: Api, query: str, collection: str = "glossed", **options: object) -> dict[str, Any]:
    [found] = api.ok("/search", {"query": query, "collection": collection, **options})["results"]
    return dict(found)


def test_terms_find_what_is_equal_to_them(api: Api) -> None:
    assert "RMA" in search(api, "an RMA", "plain")["missing_terms"]
    found = search(api, "an RMA", mode="lexical")
    assert found["missing_terms"] == []
    assert found["read_as"] is None
    [hit] = [hit for hit in found["hits"] if hit["id"] == "rma"]
    [term] = [each for each in hit["lexical"]["terms"] if each["term"] == "rma"]
    assert [hit["text"][start:end] for start, end in term["spans"]] == ["return", "authorization"]
    assert search(api, "PSU")["hits"][0]["id"] == "case"
    assert search(api, "light", mode="lexical")["hits"][0]["id"] == "lamp"
    assert search(api, "lamp", mode="lexical")["hits"] == search(api, "lamp", "plain", mode="lexical")["hits"]
    polite, plain = (search(api, query, mode="lexical") for query in ("could you please lamp", "lamp"))
    assert [hit["lexical"] for hit in polite["hits"]] == [hit["lexical"] for hit in plain["hits"]]


@pytest.mark.parametrize("collection", ["glossed", "coded"])
@pytest.mark.parametrize("measure", ["rcmd", "rcmd_words", "rcmd1_words", "unbalanced_transport", "cmd"])
def test_measures_of_tokens_obey_and_explanations_say_so(api: Api, collection: str, measure: str) -> None:
    options: dict[str, Any] = {"measure": measure, "explain": True}
    for query in ("RMA", "is the desk open?", "could you please send the lamp"):
        found = search(api, query, collection, **options)
        for hit in found["hits"]:
            why = hit["explanation"]
            total = math.fsum(link["contribution"] for link in why["links"]) + why["special"] + why["omitted"]
            assert total == pytest.approx(hit["score"], abs=1e-6)
            body = {"a": found["read_as"] or query, "id": hit["id"], "collection": collection, "measure": measure}
            explained = api.ok("/explain", body)
            assert explained["score"] == pytest.approx(hit["score"], abs=1e-6)
            assert explained["by_glossary"] == pytest.approx(why["by_glossary"], abs=1e-6)
    rma = search(api, "RMA", collection, **options, typos=False)["hits"][0]
    assert rma["id"] == "rma"
    assert rma["explanation"]["by_glossary"] > 0.05


def test_opposites_fall_and_untouched_documents_keep_their_scores(api: Api) -> None:
    query = {"query": "is the desk open?", "measure": "rcmd_words", "mode": "vector"}
    before = {hit["id"]: hit["score"] for hit in search(api, collection="plain", **query)["hits"]}
    after = {hit["id"]: hit["score"] for hit in search(api, collection="glossed", **query)["hits"]}
    assert before["closed"] > after["closed"] + 0.05
    assert {key: score for key, score in after.items() if key != "closed"} == {
        key: score for key, score in before.items() if key != "closed"
    }


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
@pytest.mark.parametrize("measure", ["cosine", "rcmd1_words"])
def test_a_missing_phrase_is_read_as_its_equal(api: Api, mode: str, measure: str) -> None:
    options: dict[str, Any] = {"mode": mode, "measure": measure, "explain": True}
    found = search(api, "is an RMA needed? PSU", **options)
    assert found["read_as"] == "is an return authorization needed? 电源"
    assert (found["hits"][0]["explanation"]["by_glossary"] is None) == (measure == "cosine")
    written = search(api, found["read_as"], **options)
    assert found["hits"] == written["hits"]
    assert search(api, "an RMA", typos=False, **options)["read_as"] is None
    hidden = search(api, "an RMA", filter={"nosuch": 1}, **options)
    assert hidden["read_as"] is None
    both = [search(api, "the lamp", name, mode=mode)["hits"] for name in ("plain", "glossed")]
    assert both[0] == both[1]


def test_differences_count_terms_of_the_glossary(api: Api) -> None:
    body = {"query": "RMA", "a": "rma", "b": "device", "collection": "glossed", "mode": "hybrid"}
    found = api.ok("/explain/difference", body)
    assert math.fsum(part["difference"] for part in found["parts"]) == pytest.approx(found["difference"], abs=1e-6)
    [term] = [part for part in found["parts"] if part["kind"] == "term"]
    assert [place["text"] for place in term["a"]["partners"]] == ["return", "authorization"]


def test_a_glossary_is_replaced_whole_and_changes_the_version(api: Api) -> None:
    api.collection("replaced")
    api.store("replaced", {"id": "1", "text": TEXTS["rma"]})
    empty = api.http.get("/collections/replaced/glossary").json()
    assert empty["groups"] == []
    saved = put(api, "replaced", GROUPS)
    assert saved["version"] != empty["version"]
    assert saved == api.http.get("/collections/replaced/glossary").json()
    assert [group["terms"] for group in saved["groups"]] == [group["terms"] for group in GROUPS]
    found = search(api, "RMA", "replaced", min_version=saved["version"])
    assert found["missing_terms"] == []
    emptied = put(api, "replaced", [])
    assert emptied["groups"] == []
    assert search(api, "RMA", "replaced", min_version=emptied["version"])["missing_terms"] == ["RMA"]


@pytest.mark.parametrize(
    ("groups", "pointer", "message"),
    [
        ([{"kind": "equal", "terms": ["!!", "a"]}], "/groups/0/terms/0", "no letter or digit"),
        ([{"kind": "equal", "terms": ["a"]}], "/groups/0", "two terms"),
        ([{"kind": "one_way", "terms": ["a"]}], "/groups/0", "terms and to"),
        ([{"kind": "ignored", "terms": ["a"], "to": ["b"]}], "/groups/0", "terms and to"),
        ([{"kind": "odd", "terms": ["a"]}], "/groups/0/kind", "equal"),
        ([{"kind": "equal", "terms": ["x" * 101, "a"]}], "/groups/0/terms/0", "100"),
        ([{"kind": "ignored", "terms": [str(i) for i in range(21)]}], "/groups/0/terms", "20"),
        ([{"kind": "ignored", "terms": ["a"]}] * 10_000, "/groups", "1000"),
        ([*GROUPS, {"kind": "ignored", "terms": ["rma"]}], "/groups", "'rma' is ignored and in another group"),
        ([*GROUPS, {"kind": "equal", "terms": ["Shut", "OPEN"]}], "/groups", "'open' is both like and unlike 'shut'"),
        ([{"kind": "opposite", "terms": ["on"], "to": ["On"]}], "/groups", "'on' is both like and unlike 'on'"),
    ],
)
def test_unsound_glossaries_are_refused_and_nothing_changes(
    api: Api, groups: list[dict[str, Any]], pointer: str, message: str
) -> None:
    before = api.http.get("/collections/glossed/glossary").json()
    answer = api.http.put("/collections/glossed/glossary", json={"groups": groups})
    assert answer.status_code == 422
    problems = answer.json()["errors"]
    assert pointer in [problem["pointer"] for problem in problems], problems
    assert message in str(problems)
    assert api.http.get("/collections/glossed/glossary").json() == before


def test_words_of_a_stem_are_found_and_marked(api: Api) -> None:
    api.collection("stems")
    api.store("stems", *({"id": key, "text": text} for key, text in TEXTS.items()))
    query = {"query": "needing another countries", "collection": "stems", "mode": "lexical"}
    assert [hit["id"] for hit in api.hits(**query)] == ["device"]
    answer = api.http.put("/collections/stems/glossary", json={"groups": [], "stems": "en"})
    assert answer.json()["stems"] == api.http.get("/collections/stems/glossary").json()["stems"] == "en"
    [found] = api.ok("/search", query)["results"]
    marked = {
        hit["id"]: [hit["text"][start:end] for term in hit["lexical"]["terms"] for start, end in term["spans"]]
        for hit in found["hits"]
    }
    assert marked == {"device": ["another", "country"], "rma": ["needed"]}
    assert (found["missing_terms"], found["read_as"]) == ([], None)
    assert api.http.put("/collections/stems/glossary", json={"groups": [], "stems": "xx"}).status_code == 422


def test_a_cycle_of_one_way_groups_finds_both(api: Api) -> None:
    api.collection("cycle")
    api.store("cycle", {"id": "a", "text": "alpha"}, {"id": "b", "text": "beta"})
    put(api, "cycle", [{"kind": "one_way", "terms": [x], "to": [y]} for x, y in (("alpha", "beta"), ("beta", "alpha"))])
    for query in ("alpha", "beta"):
        assert {hit["id"] for hit in search(api, query, "cycle", mode="lexical")["hits"]} == {"a", "b"}


def test_a_collection_that_does_not_exist_has_no_glossary(api: Api) -> None:
    for answer in (
        api.http.get("/collections/nowhere/glossary"),
        api.http.put("/collections/nowhere/glossary", json={"groups": []}),
    ):
        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_collection"
