"""Bad input gets a documented 4xx with a stable code, and changes nothing."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from semblance.service.api.error_shapes import shape_of, status_in
from tests.integration.conftest import BODY_LIMIT, Api

VALID = {"a": "A cat.", "b": "A dog."}
STORE = "/collections/default/documents"
NESTED: Any = "x"
for _ in range(20):
    NESTED = {"deeper": NESTED}


def assert_problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert (problem["status"], problem["code"]) == (status, code), problem
    assert problem["detail"]
    assert problem["title"]
    assert "Traceback" not in answer.text
    return problem


EMPTY = ["", " ", "\n\t ", "\u200b", "\ufeff\u200d\u2060", "\u00ad"]
ILL_FORMED = ["\x00", "a\x00b", "\ud800", "a\udfffb"]


@pytest.mark.parametrize("text", EMPTY)
def test_texts_without_visible_characters_are_refused(api: Api, text: str) -> None:
    for path, body, pointer in (
        ("/similarity", {"pairs": [VALID, {"a": "fine", "b": text}]}, "/pairs/1/b"),
        ("/similarity", {"left": ["fine"], "right": ["fine", text]}, "/right/1"),
        ("/search", {"query": text}, "/query"),
        ("/explain", {"a": text, "b": "fine"}, "/a"),
        ("/explain/difference", {"query": text, "a": "shipping-001", "b": "shipping-002"}, "/query"),
        (STORE, {"documents": [{"id": "x", "text": text}]}, "/documents/0/text"),
    ):
        problem = assert_problem(api.post(path, body), 422, "empty_text")
        assert [part["pointer"] for part in problem["errors"]] == [pointer]


@pytest.mark.parametrize("text", ILL_FORMED)
def test_ill_formed_texts_are_refused(api: Api, text: str) -> None:
    for path, body in (
        ("/similarity", {"pairs": [{"a": text, "b": "fine"}]}),
        ("/search", {"query": text}),
        ("/explain", {"a": "fine", "b": text}),
        ("/explain/difference", {"query": text, "a": "shipping-001", "b": "shipping-002"}),
        (STORE, {"documents": [{"id": "x", "text": text}]}),
        (STORE, {"documents": [{"id": text, "text": "fine"}]}),
        (STORE, {"documents": [{"id": "x", "text": "fine", "metadata": {"k": text}}]}),
        (STORE, {"documents": [{"id": "x", "text": "fine", "metadata": {"k": [{"l": text}]}}]}),
        (STORE, {"documents": [{"id": "x", "text": "fine", "metadata": {text: 1}}]}),
    ):
        assert_problem(api.post(path, body), 422, "ill_formed_text")


@pytest.mark.parametrize("text", ILL_FORMED)
def test_ill_formed_names_are_refused(api: Api, text: str) -> None:
    for path, body in (
        ("/search", {"query": "fine", "collection": text}),
        ("/search", {"query": "fine", "measure": text}),
        ("/similarity", {"pairs": [VALID], "model": text}),
        ("/similarity", {"pairs": [VALID], "measure": text}),
        ("/explain", {"a": "fine", "id": text}),
        ("/explain/difference", {"query": "fine", "a": "shipping-001", "b": text}),
    ):
        assert_problem(api.post(path, body), 422, "ill_formed_text")
    assert api.ok("/search", {"query": "fine", "filter": {"category": text}})["results"][0]["hits"] == []


@pytest.mark.parametrize("name", ["%00", "%ED%A0%80", "%FF", "%F0%9F%99%82", "Upper", "-x", "a b", "ü", "x" * 65])
def test_odd_names_in_paths_are_unknown(http: httpx2.Client, name: str) -> None:
    assert_problem(http.get(f"/collections/{name}"), 404, "unknown_collection")
    assert_problem(http.get(f"/collections/default/documents/{name}"), 404, "unknown_document")
    assert_problem(http.delete(f"/collections/default/documents/{name}"), 404, "unknown_document")
    assert_problem(http.put(f"/collections/{name}"), 422, "bad_name")


def test_a_text_of_a_megabyte_is_too_long(api: Api) -> None:
    text = "word " * 150_000
    assert_problem(api.post("/similarity", {"pairs": [{"a": text, "b": "fine"}]}), 422, "text_too_long")
    assert_problem(api.post("/search", {"query": text}), 422, "text_too_long")
    api.collection("uncut", passages="none")
    body = {"documents": [{"id": "ok", "text": "fine"}, {"id": "x", "text": text}]}
    problem = assert_problem(api.post("/collections/uncut/documents", body), 422, "text_too_long")
    assert problem["errors"][0]["pointer"] == "/documents/1/text"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/similarity", {"pairs": [{"a": "a", "b": "b"}] * 30_000}),
        ("/similarity", {"pairs": [VALID] * 2000, "explain": True}),
        ("/similarity", {"left": ["a"] * 3000, "right": ["b"] * 3000}),
        *(("/search", {"query": "fine", "k": k}) for k in (0, -1, 10**9, 10**30)),
        ("/search", {"queries": ["a"] * 5000}),
        ("/search", {"queries": ["a"] * 1000, "k": 1000}),
        ("/search", {"queries": ["a"] * 1000, "k": 10, "measure": "rcmd"}),
        ("/search", {"queries": ["a"] * 200, "k": 10, "explain": True}),
        ("/search", {"query": "fine", "k": 10, "candidates": 9}),
        ("/search", {"query": "fine", "k": 10, "candidates": 10**9}),
        (STORE, {"documents": [{"id": str(i), "text": "t"} for i in range(1001)]}),
    ],
)
def test_numbers_out_of_range_are_refused(api: Api, path: str, body: object) -> None:
    assert_problem(api.post(path, body), 422, "out_of_range")


def test_as_many_queries_as_allowed_are_searched(api: Api) -> None:
    assert len(api.ok("/search", {"queries": ["a"] * 1000, "k": 1})["results"]) == 1000


def test_a_hundred_thousand_pairs_are_too_large(api: Api) -> None:
    answer = api.post("/similarity", {"pairs": [{"a": "a", "b": "b"}] * 100_000})
    assert_problem(answer, 413, "body_too_large")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_non_finite_numbers_are_refused(api: Api, number: float) -> None:
    body = {"documents": [{"id": "x", "text": "fine", "metadata": {"deep": [1, {"n": number}]}}]}
    assert_problem(api.post(STORE, body), 422, "not_finite")
    assert_problem(api.post("/search", {"query": "fine", "min_score": number}), 422, "not_finite")
    assert_problem(api.post("/search", {"query": "fine", "filter": {"views": {"gte": number}}}), 422, "bad_filter")


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/similarity", {"pairs": [VALID], "colour": 1}, 422, "unknown_field"),
        ("/similarity", {"pairs": [VALID | {"c": "x"}]}, 422, "unknown_field"),
        ("/similarity", {"pairs": [VALID], "measure": "nosuch"}, 422, "unknown_measure"),
        ("/similarity", {"pairs": [VALID], "measure": "__init__"}, 422, "unknown_measure"),
        ("/similarity", {"pairs": [VALID], "model": "nosuch"}, 404, "unknown_model"),
        ("/similarity", {"pairs": []}, 422, "out_of_range"),
        ("/similarity", {}, 422, "invalid_request"),
        ("/similarity", {"pairs": [VALID], "left": ["a"], "right": ["b"]}, 422, "invalid_request"),
        ("/similarity", {"left": ["a"]}, 422, "invalid_request"),
        ("/similarity", {"left": ["a"], "right": ["b"], "explain": True}, 422, "invalid_request"),
        ("/similarity", {"pairs": [{"a": "x"}]}, 422, "missing_field"),
        ("/similarity", {"pairs": [{"a": "x", "b": 7}]}, 422, "invalid_value"),
        ("/similarity", [1, 2], 422, "invalid_value"),
        ("/search", {"query": "x", "collection": "nosuch"}, 404, "unknown_collection"),
        ("/search", {"query": "x", "queries": ["y"]}, 422, "invalid_request"),
        ("/search", {"query": "x", "measure": "nosuch"}, 422, "unknown_measure"),
        ("/search", {"query": "x", "filter": {}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"views": {"near": 3}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"or": "both"}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"gt": 1, "lt": "z"}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"gt": True}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"in": list(range(300))}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"and": [NESTED]}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"not": "red"}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"not": [{"a": 1}]}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"prefix": ""}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"prefix": 1}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"exists": "yes"}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "filter": {"a": {"exists": True, "gt": 1}}}, 422, "bad_filter"),
        ("/search", {"query": "x", "min_version": "yesterday"}, 422, "bad_version"),
        ("/explain", {"a": "x"}, 422, "invalid_request"),
        ("/explain", {"a": "x", "b": "y", "format": "pdf"}, 422, "invalid_value"),
        ("/explain", {"a": "x", "b": "y", "max_links": -1}, 422, "out_of_range"),
        ("/explain", {"a": "x", "b": "y", "max_links": False}, 422, "invalid_value"),
        ("/explain", {"a": "x", "b": "y", "max_links": "3"}, 422, "invalid_value"),
        ("/collections/nosuch/documents", {"documents": [{"id": "x", "text": "t"}]}, 404, "unknown_collection"),
        (STORE, {"documents": []}, 422, "out_of_range"),
        (STORE, {"documents": [{"id": "", "text": "t"}]}, 422, "out_of_range"),
        (STORE, {"documents": [{"id": "i" * 300, "text": "t"}]}, 422, "out_of_range"),
        (STORE, {"documents": [{"id": "..", "text": "t"}]}, 422, "bad_id"),
        (STORE, {"documents": [{"id": "a\nb", "text": "t"}]}, 422, "bad_id"),
        (STORE, {"documents": [{"id": "a/../b", "text": "t"}]}, 422, "bad_id"),
        ("/search", {"query": "x", "k": True}, 422, "invalid_value"),
        ("/search", {"query": "x", "k": "3"}, 422, "invalid_value"),
        ("/search", {"query": "x", "explain": "yes"}, 422, "invalid_value"),
        ("/search", {"query": "x", "min_score": "0.5"}, 422, "invalid_value"),
        (STORE, {"documents": [{"id": "x", "text": "t"}] * 2}, 422, "duplicate_id"),
        (STORE, {"documents": [{"id": "x", "text": "t", "metadata": NESTED}]}, 422, "metadata_too_deep"),
        (STORE, {"documents": [{"id": "x", "text": "t", "metadata": {"k": "v" * 70_000}}]}, 422, "metadata_too_large"),
    ],
)  # fmt: skip
def test_invalid_requests_are_refused(api: Api, path: str, body: object, status: int, code: str) -> None:
    assert_problem(api.post(path, body), status, code)


def test_every_route_refuses_query_parameters_it_does_not_have(api: Api, http: httpx2.Client) -> None:
    """Probes of machines may have any; so may the files of the page at /docs."""
    api.collection("asked")
    version = api.store("asked", {"id": "d", "text": "A text."})["version"]
    tried = 0
    for path, operations in http.get("/openapi.json").json()["paths"].items():
        address = path.replace("{name}", "asked").replace("{doc_id}", "d")
        for method in operations:
            answer = http.request(method, address, params={"limitt": "2", "a/b": ""})
            if address in ("/live", "/ready", "/metrics"):
                assert answer.status_code == 200
                continue
            if shape := shape_of({"path": path}):
                assert (answer.status_code, answer.json()["code"]) == (status_in(shape, 422), "unknown_field")
                continue
            problem = assert_problem(answer, 422, "unknown_field")
            assert [part["pointer"] for part in problem["errors"]] == ["/limitt", "/a~1b"]
            tried += 1
    assert tried >= 16
    assert http.get("/collections/asked").json()["version"] == version, "nothing was done"
    assert http.get("/docs", params={"_": "1"}).status_code == 200
    assert http.get("/docs/assets/swagger-ui.css", params={"v": "1"}).status_code == 200


def test_an_unknown_query_parameter_is_answered_with_the_known(http: httpx2.Client) -> None:
    listed = http.get(STORE, params={"limitt": "2"}).json()
    assert listed["detail"] == "/limitt: this route takes only the query parameters cursor, limit"
    searched = http.post("/search?k=3", json={"query": "x"}).json()
    assert searched["detail"] == "/k: this route takes no query parameters; send fields in the body"
    explained = assert_problem(http.get("/explain", params={**VALID, "colour": "1"}), 422, "unknown_field")
    assert explained["errors"][0]["pointer"] == "/colour"
    assert "granularity" in explained["detail"]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/similarity", VALID, 'give either pairs, such as {"pairs": [{"a": '),
        ("/similarity", {"texts": ["a", "b"]}, "or both left and right"),
        ("/search", {"q": "x"}, 'give query, such as {"query": '),
        ("/explain", {"text1": "x", "text2": "y"}, 'give a and either b, such as {"a": '),
        ("/v2/rerank", {"query": "x", "docs": ["y"]}, 'give documents, such as {"query": '),
        ("/v1/embeddings", {"model": "minilm", "input": 5}, "it must be a string or a list of strings"),
        ("/v1/embeddings", {"model": "minilm", "input": None}, "it must be a string or a list of strings"),
        ("/v1/embeddings", {"model": "minilm", "input": ["a", 5]}, "/input/1: it must be a string"),
    ],
)
def test_a_body_in_another_form_gets_the_right_one(api: Api, path: str, body: dict[str, Any], said: str) -> None:
    answer = api.post(path, body)
    assert answer.status_code == (400 if shape_of({"path": path}) else 422)
    content = answer.json()
    assert said in (content["error"]["message"] if "error" in content else content["detail"])


@pytest.mark.parametrize("name", ["a b", "Upper", "x" * 200, "\ud800"])
def test_impossible_names_of_collections_are_not_to_be_created(api: Api, http: httpx2.Client, name: str) -> None:
    refusals = [http.delete(f"/collections/{quote(name, errors='surrogatepass')}")]
    if name != "\ud800":
        refusals.append(api.post("/search", {"query": "x", "collection": name}))
    for refusal in refusals:
        detail = assert_problem(refusal, 404, "unknown_collection")["detail"]
        assert "PUT" not in detail
        assert "1 to 64 characters" in detail
        assert len(detail) < 300
    assert "create it with PUT" in http.get("/collections/nosuch").json()["detail"]


def test_unknown_settings_of_collections_are_refused(http: httpx2.Client) -> None:
    for name, value, status, code in (
        ("model", "nosuch", 404, "unknown_model"),
        ("measure", "nosuch", 422, "unknown_measure"),
        ("index", "nosuch", 422, "unknown_index"),
        ("tokens", "int4", 422, "invalid_value"),
    ):
        assert_problem(http.put("/collections/odd", json={name: value}), status, code)
    assert_problem(http.get("/collections/odd"), 404, "unknown_collection")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "nonsense",
        '{"pairs": [}',
        "[" * 100_000,
        '{"a":' * 5000,
        "\xff\xfe{",
        "1e999",
        f'{{"k": {"9" * 5000}}}',
    ],
)
def test_broken_and_deep_json_is_refused(http: httpx2.Client, body: str) -> None:
    answer = http.post("/similarity", content=body.encode("latin-1"), headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] in ("malformed_json", "missing_field", "invalid_value")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_other_content_types_are_refused(http: httpx2.Client, content_type: str) -> None:
    headers = {"content-type": content_type} if content_type else {}
    answer = http.post("/similarity", content=json.dumps({"pairs": [VALID]}), headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "identity", ""])
@pytest.mark.parametrize("media_type", ["application/json", "application/x-ndjson"])
def test_encoded_bodies_are_refused_with_a_remedy(http: httpx2.Client, encoding: str, media_type: str) -> None:
    http.put("/collections/encoded")
    document = {"id": "1", "text": "A cat."}
    body = json.dumps(document if "nd" in media_type else {"documents": [document]}).encode()
    headers = {"content-type": media_type, "content-encoding": encoding}
    answer = http.post("/collections/encoded/documents", content=body, headers=headers)
    if encoding in ("identity", ""):
        assert answer.status_code == 200
        return
    assert_problem(answer, 415, "unsupported_content_encoding")
    assert "without content-encoding" in answer.json()["detail"]
    assert answer.headers["accept-encoding"] == "identity"


def test_bodies_over_the_limit_are_refused_with_and_without_length(http: httpx2.Client) -> None:
    large = b'{"pairs": "' + b"x" * BODY_LIMIT + b'"}'
    headers = {"content-type": "application/json"}
    assert_problem(http.post("/similarity", content=large, headers=headers), 413, "body_too_large")
    pieces = (large[i : i + 100_000] for i in range(0, len(large), 100_000))
    assert_problem(http.post("/similarity", content=pieces, headers=headers), 413, "body_too_large")


def test_unknown_paths_and_cursors_are_refused(http: httpx2.Client) -> None:
    for method, path in (("GET", "/nosuch"), ("POST", "/similarity/")):
        assert_problem(http.request(method, path), 404, "unknown_route")
    assert_problem(http.get(STORE, params={"cursor": "%%%"}), 422, "bad_cursor")
    assert_problem(http.get(STORE, params={"limit": 0}), 422, "out_of_range")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/similarity", "POST"),
        ("PATCH", "/explain", "GET, POST"),
        ("PATCH", "/collections/x", "DELETE, GET, PUT"),
        ("PUT", "/collections/x/documents", "GET, PATCH, POST"),
    ],
)
def test_405_names_the_allowed_methods(http: httpx2.Client, method: str, path: str, allowed: str) -> None:
    answer = http.request(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


def test_a_refused_batch_stores_nothing_and_names_every_bad_document(api: Api, http: httpx2.Client) -> None:
    api.collection("whole", passages="none")
    version = http.get("/collections/whole").json()["version"]
    texts = ["good", "", "also good", "\u200b", "word " * 30_000]
    body = {"documents": [{"id": str(i), "text": text} for i, text in enumerate(texts)]}
    problem = api.post("/collections/whole/documents", body).json()
    pointers = [part["pointer"] for part in problem["errors"]]
    assert pointers == ["/documents/4/text"], "the longest is refused before tokenization"
    body["documents"].pop()
    problem = api.post("/collections/whole/documents", body).json()
    assert [(part["pointer"], part["code"]) for part in problem["errors"]] == [
        ("/documents/1/text", "empty_text"),
        ("/documents/3/text", "empty_text"),
    ]
    after = http.get("/collections/whole").json()
    assert (after["count"], after["version"]) == (0, version)


@pytest.mark.parametrize(
    "body", ['{"pairs": [' + "{}," * 45_000 + "{}]}", "{" + ",".join(f'"f{i}": 1' for i in range(60_000)) + "}"]
)
def test_very_many_mistakes_get_a_short_answer(http: httpx2.Client, body: str) -> None:
    answer = http.post("/similarity", content=body.encode(), headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert len(answer.content) < 50_000


@pytest.mark.parametrize("entry", ["1,", "[],", "[", "{},"])
def test_bodies_that_are_slow_to_parse_are_refused_before(http: httpx2.Client, entry: str) -> None:
    body = '{"pairs": [' + entry * (900_000 // len(entry)) + "1]}"
    answer = http.post("/similarity", content=body.encode(), headers={"content-type": "application/json"})
    assert "100,000 values" in assert_problem(answer, 413, "body_too_large")["detail"]
    lines = {"content-type": "application/x-ndjson"}
    [stored, done] = http.post(STORE, content=body.encode(), headers=lines).text.splitlines()
    assert [each["code"] for each in json.loads(stored)["errors"]] == ["body_too_large"]
    assert json.loads(done)["failed"] == 1


def test_sql_in_names_values_and_filters_is_data(api: Api, http: httpx2.Client) -> None:
    api.collection("sql")
    evil = "x'; DELETE FROM documents; DROP TABLE collections; --\""
    kept = {"id": "kept", "text": "A cat.", "metadata": {"k": "v"}}
    api.ok("/collections/sql/documents", {"documents": [kept, {"id": evil, "text": evil, "metadata": {evil: evil}}]})
    [hit] = api.ok("/search", {"query": "x", "collection": "sql", "filter": {evil: evil}})["results"][0]["hits"]
    assert (hit["id"], hit["text"], hit["metadata"]) == (evil, evil, {evil: evil})
    assert http.delete(f"/collections/sql/documents/{quote(evil)}").status_code == 200
    listed = http.get("/collections/sql/documents").json()["documents"]
    assert [each["id"] for each in listed] == ["kept"]
    assert_problem(http.get("/collections/sql/documents", params={"cursor": evil}), 422, "bad_cursor")
