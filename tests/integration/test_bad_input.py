"""Bad input gets a documented 4xx with a stable code, and changes nothing."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from semblance.models import catalogue
from semblance.service.api.error_shapes import shape_of, status_in
from tests.integration.conftest import BODY_LIMIT, NDJSON, Api, code_of

VALID = {"a": "A cat.", "b": "A dog."}
AT_ONCE = {"field": "n", "weight": 0.1, "half_life_days": 1e-300}
COMPARED = {"query": "x", "a": "shipping-001", "b": "shipping-002"}
STORE = "/collections/default/documents"
JSON = {"content-type": "application/json"}
NESTED: Any = "x"
for _ in range(20):
    NESTED = {"deeper": NESTED}
UNEXPLAINED = next(name for name in catalogue.names(catalogue.MEASURES) if not catalogue.explains(name))


def assert_problem(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert (problem["status"], problem["code"]) == (status, code), problem
    assert problem["detail"]
    assert problem["title"]
    assert "Traceback" not in answer.text
    return problem


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b", "\ufeff\u200d\u2060", "\u00ad"])
def test_texts_without_visible_characters_are_refused(api: Api, text: str) -> None:
    for path, body, pointer in (
        ("/similarity", {"pairs": [VALID, {"a": "fine", "b": text}]}, "/pairs/1/b"),
        ("/similarity", {"left": ["fine"], "right": ["fine", text]}, "/right/1"),
        ("/search", {"query": text}, "/query"),
        ("/explain", {"a": text, "b": "fine"}, "/a"),
        ("/explain/difference", COMPARED | {"query": text}, "/query"),
        (STORE, {"documents": [{"id": "x", "text": text}]}, "/documents/0/text"),
    ):
        problem = assert_problem(api.post(path, body), 422, "empty_text")
        assert [part["pointer"] for part in problem["errors"]] == [pointer]


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\ud800", "a\udfffb"])
def test_ill_formed_texts_and_names_are_refused(api: Api, text: str) -> None:
    document = {"id": "x", "text": "fine"}
    for path, body in (
        ("/similarity", {"pairs": [{"a": text, "b": "fine"}]}),
        ("/similarity", {"pairs": [VALID], "model": text}),
        ("/similarity", {"pairs": [VALID], "measure": text}),
        ("/search", {"query": text}),
        ("/search", {"query": "fine", "collection": text}),
        ("/explain", {"a": "fine", "b": text}),
        ("/explain", {"a": "fine", "id": text}),
        ("/explain/difference", COMPARED | {"query": text}),
        ("/explain/difference", COMPARED | {"b": text}),
        (STORE, {"documents": [document | {"text": text}]}),
        (STORE, {"documents": [document | {"id": text}]}),
        (STORE, {"documents": [document | {"metadata": {"k": [{"l": text}]}}]}),
        (STORE, {"documents": [document | {"metadata": {text: 1}}]}),
    ):
        assert_problem(api.post(path, body), 422, "ill_formed_text")
    assert api.hits("fine", filter={"category": text}) == []


@pytest.mark.parametrize("name", ["%00", "%ED%A0%80", "%FF", "%F0%9F%99%82", "Upper", "-x", "a b", "ü", "x" * 65])
def test_odd_names_in_paths_are_unknown(http: httpx2.Client, name: str) -> None:
    assert_problem(http.get(f"/collections/{name}"), 404, "unknown_collection")
    assert_problem(http.get(f"/collections/default/documents/{name}"), 404, "unknown_document")
    assert_problem(http.delete(f"/collections/default/documents/{name}"), 404, "unknown_document")
    assert_problem(http.put(f"/collections/{name}"), 422, "bad_name")


@pytest.mark.parametrize("name", ["a b", "x" * 200, "\ud800"])
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
        ("/search", {"queries": ["a"] * 20, "k": 1, "group_by": "x", "candidates": 1000}),
        ("/search", {"query": "fine", "group_by": "x", "group_size": 100, "k": 1000}),
        ("/search", {"query": "fine", "k": 10, "candidates": 9}),
        ("/search", {"query": "fine", "k": 10, "candidates": 10**9}),
        ("/search", {"query": "fine", "passages": 0}),
        ("/search", {"query": "fine", "passages": 21}),
        (STORE, {"documents": [{"id": str(i), "text": "t"} for i in range(1001)]}),
    ],
)
def test_numbers_out_of_range_are_refused(api: Api, path: str, body: object) -> None:
    assert_problem(api.post(path, body), 422, "out_of_range")


def test_as_many_queries_as_allowed_are_searched(api: Api) -> None:
    assert len(api.ok("/search", {"queries": ["a"] * 1000, "k": 1})["results"]) == 1000


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_non_finite_numbers_are_refused(api: Api, number: float) -> None:
    body = {"documents": [{"id": "x", "text": "fine", "metadata": {"deep": [1, {"n": number}]}}]}
    assert_problem(api.post(STORE, body), 422, "not_finite")
    assert_problem(api.post("/search", {"query": "fine", "min_score": number}), 422, "not_finite")
    assert_problem(api.post("/search", {"query": "fine", "filter": {"views": {"gte": number}}}), 422, "bad_filter")


BAD_FILTERS: list[Any] = [
    {},
    {"views": {"near": 3}},
    {"or": "both"},
    {"a": {"gt": 1, "lt": "z"}},
    {"a": {"gt": True}},
    {"a": {"in": list(range(300))}},
    {"and": [NESTED]},
    {"not": "red"},
    {"not": [{"a": 1}]},
    {"a": {"prefix": ""}},
    {"a": {"prefix": 1}},
    {"a": {"exists": "yes"}},
    {"a": {"exists": True, "gt": 1}},
]


@pytest.mark.parametrize("wrong", BAD_FILTERS)
def test_malformed_filters_are_refused(api: Api, wrong: object) -> None:
    for path, body in (
        ("/search", {"query": "x"}),
        *((f"/collections/default/{verb}", {}) for verb in ("count", "map")),
    ):
        assert_problem(api.post(path, body | {"filter": wrong}), 422, "bad_filter")


INVALID: list[tuple[str, Any, int, str]] = [
    ("/similarity", {"pairs": [VALID], "colour": 1}, 422, "unknown_field"),
    ("/similarity", {"pairs": [VALID | {"c": "x"}]}, 422, "unknown_field"),
    ("/similarity", {"pairs": [VALID], "measure": "nosuch"}, 422, "unknown_measure"),
    ("/similarity", {"pairs": [VALID], "measure": "__init__"}, 422, "unknown_measure"),
    ("/similarity", {"pairs": [VALID], "model": "nosuch"}, 404, "unknown_model"),
    ("/similarity", {"pairs": [VALID], "measure": UNEXPLAINED, "explain": True}, 422, "not_explainable"),
    ("/similarity", {"pairs": []}, 422, "out_of_range"),
    ("/similarity", {}, 422, "invalid_request"),
    ("/similarity", {"pairs": [VALID], "left": ["a"], "right": ["b"]}, 422, "invalid_request"),
    ("/similarity", {"left": ["a"]}, 422, "invalid_request"),
    ("/similarity", {"left": ["a"], "right": ["b"], "explain": True}, 422, "invalid_request"),
    ("/similarity", {"pairs": [{"a": "x"}]}, 422, "missing_field"),
    ("/similarity", {"pairs": [{"a": "x", "b": 7}]}, 422, "invalid_value"),
    ("/similarity", [1, 2], 422, "invalid_value"),
    ("/search", {"query": "x", "collection": "nosuch"}, 404, "unknown_collection"),
    ("/search", {}, 422, "invalid_request"),
    ("/search", {"query": "x", "queries": ["y"]}, 422, "invalid_request"),
    ("/search", {"query": "x", "like": "shipping-001"}, 422, "invalid_request"),
    ("/search", {"like": "none"}, 404, "unknown_document"),
    ("/search", {"query": "x", "measure": "nosuch"}, 422, "unknown_measure"),
    ("/search", {"query": "x", "mode": "bm25"}, 422, "invalid_value"),
    ("/search", {"query": "x", "k": True}, 422, "invalid_value"),
    ("/search", {"query": "x", "k": "3"}, 422, "invalid_value"),
    ("/search", {"query": "x", "explain": "yes"}, 422, "invalid_value"),
    ("/search", {"query": "x", "min_score": "0.5"}, 422, "invalid_value"),
    ("/search", {"query": "x", "min_version": "yesterday"}, 422, "bad_version"),
    ("/search", {"query": "x", "diversity": 0.5, "mode": "lexical"}, 422, "invalid_value"),
    ("/search", {"query": "x", "group_size": 2}, 422, "invalid_value"),
    ("/search", {"query": "x", "sort": {"field": "n"}, "diversity": 0.5}, 422, "invalid_value"),
    ("/search", {"query": "x", "boosts": [{"field": "n", "weight": 0.1, "full_at": 0}]}, 422, "out_of_range"),
    ("/search", {"query": "x", "boosts": [{"field": "n", "weight": 0.1}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "boosts": [{"field": "n", "weight": 9, "full_at": 1}]}, 422, "out_of_range"),
    ("/search", {"query": "x", "boosts": [AT_ONCE | {"origin": "soon"}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "boosts": [AT_ONCE], "mode": "lexical"}, 422, "invalid_value"),
    ("/search", {"query": "x", "facets": [{"field": "n", "ranges": [{}]}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "facets": [{"field": "n", "ranges": [{"gt": 1, "gte": 1}]}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "facets": [{"field": "n", "ranges": [{"gt": 1, "lt": "z"}]}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "facets": [{"field": "x"}, {"field": "x"}]}, 422, "invalid_value"),
    ("/search", {"query": "x", "highlight": {"chars": 19}}, 422, "out_of_range"),
    ("/search", {"query": "x", "highlight": {"marks": 0}}, 422, "out_of_range"),
    ("/search", {"query": "x", "highlight": "yes"}, 422, "invalid_value"),
    ("/explain", {"a": "x"}, 422, "invalid_request"),
    ("/explain", {"a": "x", "b": "y", "format": "pdf"}, 422, "invalid_value"),
    ("/explain", {"a": "x", "b": "y", "max_links": -1}, 422, "out_of_range"),
    ("/explain", {"a": "x", "b": "y", "max_links": False}, 422, "invalid_value"),
    ("/explain/difference", COMPARED | {"b": "none"}, 404, "unknown_document"),
    ("/explain/difference", COMPARED | {"b": COMPARED["a"]}, 422, "invalid_value"),
    ("/explain/difference", COMPARED | {"collection": "none"}, 404, "unknown_collection"),
    ("/explain/difference", COMPARED | {"measure": "none"}, 422, "unknown_measure"),
    ("/explain/difference", COMPARED | {"measure": UNEXPLAINED}, 422, "not_explainable"),
    ("/explain/difference", COMPARED | {"mode": "lexical"}, 422, "invalid_value"),
    ("/explain/difference", COMPARED | {"format": "svg"}, 422, "invalid_value"),
    ("/explain/difference", COMPARED | {"query": "a " * 60_000}, 422, "text_too_long"),
    ("/explain/difference", COMPARED | {"query": "word " * 600, "truncate": "NONE"}, 422, "text_too_long"),
    ("/collections/nosuch/documents", {"documents": [{"id": "x", "text": "t"}]}, 404, "unknown_collection"),
    (STORE, {"documents": [{"id": "", "text": "t"}]}, 422, "out_of_range"),
    (STORE, {"documents": [{"id": "i" * 300, "text": "t"}]}, 422, "out_of_range"),
    (STORE, {"documents": [{"id": "..", "text": "t"}]}, 422, "bad_id"),
    (STORE, {"documents": [{"id": "a\nb", "text": "t"}]}, 422, "bad_id"),
    (STORE, {"documents": [{"id": "a/../b", "text": "t"}]}, 422, "bad_id"),
    (STORE, {"documents": [{"id": "x", "text": "t"}] * 2}, 422, "duplicate_id"),
    (STORE, {"documents": [{"id": "x", "text": "t", "metadata": NESTED}]}, 422, "metadata_too_deep"),
    (STORE, {"documents": [{"id": "x", "text": "t", "metadata": {"k": "v" * 70_000}}]}, 422, "metadata_too_large"),
    ("/collections/default/count", {"facets": [{"field": f"f{i}"} for i in range(21)]}, 422, "out_of_range"),
    ("/collections/default/count", {"facets": [{"field": ""}]}, 422, "out_of_range"),
    ("/collections/default/count", {"facets": [{"field": "n", "limit": 3}]}, 422, "unknown_field"),
    ("/collections/default/count", {"query": "a"}, 422, "unknown_field"),
    ("/collections/nosuch/count", {}, 404, "unknown_collection"),
    ("/collections/default/map", {"limit": 5001}, 422, "out_of_range"),
    ("/collections/default/map", {"min_version": "5f3a9c01d2e4:17:c4d1f09e"}, 409, "version_mismatch"),
    ("/collections/default/list", {"cursor": "x"}, 422, "bad_cursor"),
    ("/collections/default/list", {"cursor": "WzFd"}, 422, "bad_cursor"),
    ("/collections/default/list", {"cursor": "W1tb" * 500}, 422, "bad_cursor"),
    ("/collections/default/list", {"cursor": "WyJhIiwwXQ==", "offset": 1}, 422, "invalid_request"),
    ("/collections/default/list", {"sort": "n"}, 422, "invalid_value"),
    ("/collections/default/delete", {}, 422, "invalid_request"),
    ("/collections/default/delete", {"ids": [], "filter": None}, 422, "out_of_range"),
    ("/collections/default/delete", {"ids": ["none"], "filter": {"none": 1}}, 422, "invalid_request"),
    ("/collections/default/delete", {"ids": ["none"] * 1001}, 422, "out_of_range"),
    ("/collections/default/duplicates", {"min_score": 0.9, "cursor": "x"}, 422, "bad_cursor"),
    ("/collections/default/duplicates", {"min_score": 0.9, "measure": "none"}, 422, "unknown_measure"),
    (
        "/collections/default/duplicates",
        {"min_score": 0.9, "measure": UNEXPLAINED, "explain": True},
        422,
        "not_explainable",
    ),
]


@pytest.mark.parametrize(("path", "body", "status", "code"), INVALID)
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
                assert code_of(answer) == (status_in(shape, 422), "unknown_field")
                continue
            problem = assert_problem(answer, 422, "unknown_field")
            assert [part["pointer"] for part in problem["errors"]] == ["/limitt", "/a~1b"]
            tried += 1
    assert tried >= 16
    assert http.get("/collections/asked").json()["version"] == version, "nothing was done"
    assert http.get("/docs", params={"_": "1"}).status_code == 200
    assert http.get("/docs/assets/swagger-ui.css", params={"v": "1"}).status_code == 200


def test_an_unknown_query_parameter_is_answered_with_the_known(http: httpx2.Client) -> None:
    for method, path, said in (
        ("GET", f"{STORE}?limitt=2", "/limitt: this route takes only the query parameters cursor, limit"),
        ("POST", "/search?k=3", "/k: this route takes no query parameters; send fields in the body"),
        ("GET", "/explain?a=x&b=y&colour=1", "granularity"),
    ):
        assert said in http.request(method, path).json()["detail"]


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
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("settings", "status", "code"),
    [
        ({"model": "nosuch"}, 404, "unknown_model"),
        ({"measure": "nosuch"}, 422, "unknown_measure"),
        ({"index": "nosuch"}, 422, "unknown_index"),
        ({"tokens": "int4"}, 422, "invalid_value"),
        ({"passages": {"tokens": 257}}, 422, "out_of_range"),
        ({"passages": {"tokens": 15}}, 422, "out_of_range"),
        ({"passages": {"tokens": 64, "overlap": 11}}, 422, "out_of_range"),
        ({"passages": {"tokens": 64, "overlap": -1}}, 422, "out_of_range"),
        ({"passages": {"overlap": 1}}, 422, "missing_field"),
        ({"passages": {"tokens": 64, "size": 1}}, 422, "unknown_field"),
        ({"passages": "sentences"}, 422, "invalid_value"),
        ({"passages": 64}, 422, "invalid_value"),
    ],
)
def test_unknown_settings_of_collections_are_refused(
    http: httpx2.Client, settings: dict[str, Any], status: int, code: str
) -> None:
    problem = assert_problem(http.put("/collections/odd", json=settings), status, code)
    assert "passages" not in settings or problem["errors"][0]["pointer"].startswith("/passages")
    assert_problem(http.get("/collections/odd"), 404, "unknown_collection")


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "nonsense", '{"pairs": [}', "\xff\xfe{", "1e999"),
        "[" * 100_000,
        '{"a":' * 5000,
        f'{{"k": {"9" * 5000}}}',
    ],
)
def test_broken_and_deep_json_is_refused(http: httpx2.Client, body: str) -> None:
    answer = http.post("/similarity", content=body.encode("latin-1"), headers=JSON)
    assert answer.status_code in (400, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] in ("malformed_json", "missing_field", "invalid_value")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_other_content_types_are_refused(http: httpx2.Client, content_type: str) -> None:
    headers = {"content-type": content_type}
    answer = http.post("/similarity", content=json.dumps({"pairs": [VALID]}), headers=headers)
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "deflate, gzip", "gzip, gzip", "identity", ""])
@pytest.mark.parametrize("kind", [JSON, NDJSON])
def test_encoded_bodies_are_refused_with_a_remedy(http: httpx2.Client, encoding: str, kind: dict[str, str]) -> None:
    http.put("/collections/encoded")
    document = {"id": "1", "text": "A cat."}
    body = json.dumps(document if kind == NDJSON else {"documents": [document]}).encode()
    answer = http.post("/collections/encoded/documents", content=body, headers=kind | {"content-encoding": encoding})
    if encoding in ("identity", ""):
        assert answer.status_code == 200
        return
    assert "compressed by gzip" in assert_problem(answer, 415, "unsupported_content_encoding")["detail"]
    assert answer.headers["accept-encoding"] == "gzip, identity"


@pytest.mark.parametrize("path", ["/similarity", "/v1/embeddings"])
def test_bodies_over_the_limit_are_refused_with_and_without_length(http: httpx2.Client, path: str) -> None:
    large = b'{"pairs": "' + b"x" * BODY_LIMIT + b'"}'
    pieces = (large[i : i + 100_000] for i in range(0, len(large), 100_000))
    for content in (large, pieces):
        assert code_of(http.post(path, content=content, headers=JSON)) == (413, "body_too_large")


def test_unknown_paths_and_cursors_are_refused(http: httpx2.Client) -> None:
    for method, path in (("GET", "/nosuch"), ("POST", "/similarity//")):
        assert_problem(http.request(method, path), 404, "unknown_route")
    assert_problem(http.get(STORE, params={"cursor": "%%%"}), 422, "bad_cursor")
    assert_problem(http.get(STORE, params={"limit": 0}), 422, "out_of_range")
    assert_problem(http.get("/explain", params=VALID, headers={"accept": "application/pdf"}), 406, "not_acceptable")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/similarity", "POST"),
        ("PATCH", "/explain", "GET, HEAD, POST"),
        ("PATCH", "/collections/x", "DELETE, GET, HEAD, PUT"),
        ("PUT", "/collections/x/documents", "GET, HEAD, PATCH, POST"),
    ],
)
def test_405_names_the_allowed_methods(http: httpx2.Client, method: str, path: str, allowed: str) -> None:
    answer = http.request(method, path)
    assert_problem(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


def test_a_refused_batch_stores_nothing_and_names_every_bad_document(api: Api) -> None:
    api.collection("whole", passages="none")
    version = api.get("/collections/whole")["version"]
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
    after = api.get("/collections/whole")
    assert (after["count"], after["version"]) == (0, version)


@pytest.mark.parametrize(
    "body", ['{"pairs": [' + "{}," * 45_000 + "{}]}", "{" + ",".join(f'"f{i}": 1' for i in range(60_000)) + "}"]
)
def test_very_many_mistakes_get_a_short_answer(http: httpx2.Client, body: str) -> None:
    answer = http.post("/similarity", content=body.encode(), headers=JSON)
    assert answer.status_code == 422
    assert len(answer.content) < 50_000


@pytest.mark.parametrize("entry", ["1,", "[],", "[", "{},"])
def test_bodies_that_are_slow_to_parse_are_refused_before(api: Api, http: httpx2.Client, entry: str) -> None:
    body = '{"pairs": [' + entry * (900_000 // len(entry)) + "1]}"
    answer = http.post("/similarity", content=body.encode(), headers=JSON)
    assert "100,000 values" in assert_problem(answer, 413, "body_too_large")["detail"]
    [stored, done] = api.lines("default", body.encode())
    assert [each["code"] for each in stored["errors"]] == ["body_too_large"]
    assert done["failed"] == 1


def test_sql_in_names_values_and_filters_is_data(api: Api, http: httpx2.Client) -> None:
    api.collection("sql")
    evil = "x'; DELETE FROM documents; DROP TABLE collections; --\""
    api.store("sql", {"id": "kept", "text": "A cat."}, {"id": evil, "text": evil, "metadata": {evil: evil}})
    [hit] = api.hits("x", collection="sql", filter={evil: evil})
    assert (hit["id"], hit["text"], hit["metadata"]) == (evil, evil, {evil: evil})
    assert http.delete(f"/collections/sql/documents/{quote(evil)}").status_code == 200
    assert [each["id"] for each in api.get("/collections/sql/documents")["documents"]] == ["kept"]
    assert_problem(http.get("/collections/sql/documents", params={"cursor": evil}), 422, "bad_cursor")
