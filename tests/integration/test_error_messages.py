"""Messages of errors say what is wrong and what to write, each kind of problem once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.integration.conftest import Api, code_of, served

MANY = 150


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/similarity", {"pairs": [["a", "b"]]}, '/pairs/0: it must be an object, such as {"a": ..., "b": ...}'),
        ("/similarity", {"pairs": ["a"]}, '/pairs/0: it must be an object, such as {"a": ..., "b": ...}'),
        (
            "/similarity",
            {"pairs": [["a", "b"]] * MANY},
            '/pairs/0 and 149 more: it must be an object, such as {"a": ..., "b": ...}',
        ),
        (
            "/collections/default/documents",
            {"documents": ["a text"]},
            '/documents/0: it must be an object, such as {"id": ..., "text": ...}',
        ),
        ("/collections/default/documents", ["a text"], 'it must be an object, such as {"documents": ...}'),
        ("/search", "a text", "it must be an object, such as {...}"),
    ],
)
def test_lists_in_place_of_objects_are_told_the_form(api: Api, path: str, body: object, message: str) -> None:
    refused = api.post(path, body)
    assert (*code_of(refused), refused.json()["detail"]) == (422, "invalid_value", message)


@pytest.mark.parametrize(
    ("path", "body", "details"),
    [
        (
            "/similarity",
            {"pairs": [{"a": "x", "b": " "}] * MANY},
            "/pairs/0/b and 149 more: it has no visible character",
        ),
        ("/similarity", {"pairs": [{"a": "x"}] * MANY}, "/pairs/0/b and 149 more: it is required"),
        ("/similarity", {"pairs": [{"a": "x", "b": "\x00"}, {"a": "x", "b": "y"}]}, "/pairs/0/b: it contains a NUL"),
        (
            "/collections/default/documents",
            {"documents": [{"id": "same", "text": "x"}] * 3},
            "/documents/0/id and 2 more: ",
        ),
        (
            "/collections/default/documents",
            {"documents": [{"id": name, "text": "x", "if_version": "9"} for name in "ab"]},
            "/documents/0/if_version and 1 more: ",
        ),
    ],
)
def test_equal_problems_are_one_message_and_keep_their_places(
    api: Api, path: str, body: dict[str, Any], details: str
) -> None:
    refused = api.post(path, body).json()
    assert refused["detail"].startswith(details)
    places = [part["pointer"] for part in refused["errors"]]
    assert len(places) == len(set(places)) <= 100
    assert places[0] == details.partition(":")[0].partition(" ")[0]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST"])
def test_methods_of_one_document_name_the_route_of_all(api: Api, method: str) -> None:
    refused = api.http.request(method, "/collections/default/documents/a/b", json={})
    assert code_of(refused) == (405, "method_not_allowed")
    assert "to store it, POST /collections/default/documents, " in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "ends"),
    [
        ("/search", {"query": "x", "colection": "default"}, ["did you mean `collection`?"]),
        ("/search", {"query": "x", "size": 3, "from": 1}, ["did you mean `k`?", "did you mean `offset`?"]),
        ("/search", {"query": "x", "threshold": 0.5, "mesure": "rcmd"}, ["mean `min_score`?", "mean `measure`?"]),
        ("/search", {"query": "x", "facets": [{"feld": "a"}]}, ["did you mean `field`?", "it is required"]),
        ("/search", {"query": "x", "highlight": {"charz": 30}}, ["did you mean `chars`?"]),
        ("/search", {"query": "x", "zzz": 1}, ["the schema has no such field"]),
        ("/collections/default/list", {"size": 3}, ["did you mean `limit`?"]),
        (
            "/collections/default/documents",
            {"documents": [{"id": "1", "text": "x", "color": "red", "txt": "y"}]},
            ["belong into `metadata`", "did you mean `text`?"],
        ),
    ],
)
def test_unknown_fields_get_the_name_that_is_meant(api: Api, path: str, body: object, ends: list[str]) -> None:
    details = [each["detail"] for each in api.post(path, body).json()["errors"]]
    assert len(details) == len(ends)
    assert all(any(detail.endswith(end) for detail in details) for end in ends), details


def test_unknown_fields_of_lines_belong_into_metadata(api: Api) -> None:
    [line, _] = api.lines("default", b'{"id": "1", "text": "x", "color": "red"}')
    assert line["errors"][0]["detail"].endswith("belong into `metadata`")


@pytest.mark.parametrize("path", ["/search", "/collections/default/count"])
def test_a_body_in_another_encoding_is_told_so(api: Api, path: str) -> None:
    headers = {"content-type": "application/json"}
    refused = api.http.post(path, content='{"query": "Gr\u00f6\u00dfe"}'.encode("latin-1"), headers=headers)
    assert (*code_of(refused), refused.json()["detail"][:25]) == (400, "malformed_json", "the body is not UTF-8, in")


@pytest.mark.parametrize(
    ("path", "body", "code", "pointer"),
    [
        ("/search", {"like": "none"}, "unknown_document", "/like"),
        ("/search", {"query": "x", "measure": "none"}, "unknown_measure", "/measure"),
        ("/explain", {"a": "x", "b": "y", "measure": "none"}, "unknown_measure", "/measure"),
        ("/explain", {"a": "x", "id": "none"}, "unknown_document", "/id"),
        ("/explain/difference", {"query": "x", "a": "shipping-001", "b": "none"}, "unknown_document", "/b"),
    ],
)
def test_unknown_names_are_pointed_to(api: Api, path: str, body: object, code: str, pointer: str) -> None:
    [part] = api.post(path, body).json()["errors"]
    assert (part["code"], part["pointer"]) == (code, pointer)


def test_unknown_parameters_are_pointed_to(api: Api) -> None:
    page = api.http.get("/explain/difference", params={"query": "x", "a": "none", "b": "nil"}).json()
    assert [each["pointer"] for each in page["errors"]] == ["/a", "/b"]


WRONG = [
    {"id": "1", "text": "fine"},
    {"id": "2", "text": " ", "metadata": {"title": "A lamp"}},
    {"id": "3", "text": "\ud800"},
    {"id": "1", "text": "fine", "color": "red"},
    {"id": "4", "text": 7},
    {"id": "5", "text": "", "metadata": None},
    7,
]


def test_one_answer_names_all_wrong_documents(api: Api) -> None:
    api.collection("wrong", text_fields=["title"])
    refused = api.post("/collections/wrong/documents", {"documents": WRONG}).json()["errors"]
    assert sorted((each["pointer"], each["code"]) for each in refused) == [
        ("/documents/0/id", "duplicate_id"),
        ("/documents/2/text", "ill_formed_text"),
        ("/documents/3/color", "unknown_field"),
        ("/documents/3/id", "duplicate_id"),
        ("/documents/4/text", "invalid_value"),
        ("/documents/5/metadata", "invalid_value"),
        ("/documents/5/text", "empty_text"),
        ("/documents/6", "invalid_value"),
    ]
    well_formed = [WRONG[0], WRONG[0], {"id": "5", "text": ""}]
    refused = api.post("/collections/wrong/documents", {"documents": well_formed}).json()["errors"]
    assert [each["code"] for each in refused] == ["duplicate_id", "duplicate_id", "empty_text"]


def test_unknown_documents_of_a_change_are_pointed_to(api: Api) -> None:
    changes = [{"id": name, "metadata": {"a": 1}} for name in ("shipping-001", "none", "nil")]
    refused = api.http.patch("/collections/default/documents", json={"documents": changes}).json()
    assert [each["pointer"] for each in refused["errors"]] == ["/documents/1/id", "/documents/2/id"]


def test_other_settings_are_named_as_requests_have_them(api: Api) -> None:
    api.collection("set", passages={"tokens": 100, "overlap": 1})
    detail = api.http.put("/collections/set", json={"passages": "none"}).json()["detail"]
    assert 'exists with passages {"tokens": 100, "overlap": 1}, not "none": ' in detail


def test_an_unknown_model_is_told_of_aliases(api: Api) -> None:
    body = {"model": "text-embedding-3-small", "input": "x"}
    assert "SEMBLANCE_MODEL_ALIASES" in api.post("/v1/embeddings", body).json()["message"]


def test_other_shapes_tell_each_kind_of_problem_once(api: Api) -> None:
    texts = ["fine", *[""] * MANY, "\x00", "word " * 30_000, *["\x00"] * 9]
    openai = api.post("/v1/embeddings", {"model": "minilm", "input": texts}).json()["message"]
    assert openai == "/input/151 and 9 more: it contains a NUL character"
    without = [text for text in texts if "\x00" not in text]
    assert (
        api.post("/v1/embeddings", {"model": "minilm", "input": without}).json()["message"].startswith("/input/151: ")
    )
    blank = api.post("/v1/embeddings", {"model": "minilm", "input": without[:-1]}).json()["message"]
    assert blank == "/input/1 and 149 more: it has no visible character"
    mixed = api.post("/embed", {"inputs": [" ", 7, " ", None]}).json()["error"]
    assert mixed == "/inputs/1 and 1 more: it must be a string"
    kinds = api.post("/v1/embeddings", {"input": ["x", 7.5], "dimensions": -1}).json()["message"]
    assert re.findall(r"/\w+(?:/\d)?(?=: )", kinds) == ["/input/1", "/dimensions"]


def test_many_kinds_of_problems_are_cut_with_a_count() -> None:
    with served(models="minilm", max_text_chars="10") as (_, short):
        texts = ["x" * (11 + i) for i in range(14)]
        refused = short.post("/embed", {"inputs": texts}).json()["error"]
        assert refused.endswith("/inputs/9: 20 characters exceed the limit of 10; and 4 more")
        assert refused.count("characters exceed") == 10


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            {"address": {"city": "Berlin"}},
            "'city' is not an operator: a condition must be a value, or an object with one of",
        ),
        ({"address": {"city": "Berlin"}}, "so store that of 'address' as a field of its own"),
        ({"a": {"b": {"gte": 1}}}, "'b' is not an operator"),
        ({"$and": [{"a": 1}]}, "'$and' is not an operator: write 'and'"),
        ({"$not": {"a": 1}}, "'$not' is not an operator: write 'not'"),
        ({"a": {"$in": [1, 2]}}, "'$in' is not an operator: write 'in'"),
        ({"a": {"$eq": 1}}, "'$eq' is not an operator: write the value itself"),
        ({"a": {"$ne": 1}}, "'$ne' is not an operator: write {\"not\": "),
        ({"tags": ["a", "b"]}, "'tags' has a list: for one of several values write {\"in\": [...]}"),
        ({"must": [{"term": {"a": 1}}]}, "/filter/must: 'must' is not an operator: write 'and'"),
        ({"bool": {"must": {"term": {"a": 1}}}}, "/filter/bool: 'bool' is not an operator: write its parts as 'and'"),
        ({"and": [{"b": 1}, {"term": {"a": 1}}]}, "/filter/and/1/term: 'term' is not an operator: write {\"field\": "),
        ({"range": {"a": {"gte": 1}}}, '/filter/range: \'range\' is not an operator: write {"field": {"gte": ...}}'),
        (
            {"exists": {"field": "a"}},
            '/filter/exists: \'exists\' is not an operator: write {"field": {"exists": true}}',
        ),
        ({"not": [{"a": 1}]}, "/filter/not: a filter must be an object"),
        ({"or": [{"a": 1}, 7]}, "/filter/or/1: a filter must be an object"),
        ({"a": {"in": [1], "gte": 1}}, "'in' must be alone in its condition: join several by 'and'"),
        ([{"a": 1}], 'a filter must be an object with at least one field, such as {"category": "shipping"}'),
        ({"x" * 1000: {"y" * 1000: 1}}, "'" + "y" * 99 + "…' is not an operator"),
    ],
)
@pytest.mark.parametrize("path", ["/search", "/collections/default/count"])
def test_filters_of_other_grammars_are_told_what_to_write(api: Api, path: str, where: object, message: str) -> None:
    refused = api.post(path, {"filter": where} | ({"query": "x"} if path == "/search" else {}))
    assert code_of(refused) == (422, "bad_filter")
    assert message in refused.json()["detail"]
    assert len(refused.text) < 2000
