"""Refusals of the routes that clients of other APIs call, in the shapes which these read."""

from __future__ import annotations

import math
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import BODY_LIMIT, Api

JSON = {"content-type": "application/json"}
VALID: dict[str, dict[str, Any]] = {
    "/v2/rerank": {"query": "a parcel", "documents": ["a parcel", "a lamp"]},
    "/v1/embeddings": {"model": "minilm", "input": "fine"},
    "/score": {},
}
LONG, MANY = "word " * 30_000, ["x"] * 5000
NO_UNIT: dict[str, object] = {"measure": "soft_cardinality", "explain": True}


def check_error(answer: httpx2.Response, status: int, code: str, param: str | None = None) -> str:
    """The message of an error that clients of OpenAI's API and others read."""
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    message, parts = error["message"], answer.json()["errors"]
    assert answer.json() == {"error": error, "message": message, "detail": message, "code": code, "errors": parts}
    assert all(part["detail"] in message for part in parts[:10])
    assert sorted(error) == ["code", "message", "param", "type"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
    return str(error["message"])


def check_tei_error(answer: httpx2.Response, code: str) -> str:
    """The message of an error that clients of Text Embeddings Inference read."""
    refused = answer.json()
    assert sorted(refused) == ["code", "error", "error_type"]
    assert (answer.status_code, refused["error_type"], refused["code"]) == (422, "Validation", code)
    return str(refused["error"])


@pytest.mark.parametrize(
    ("path", "change", "status", "code", "param"),
    [
        ("/v2/rerank", {"query": " "}, 400, "empty_text", "query"),
        ("/v2/rerank", {"query": {"image": "x"}}, 400, "invalid_value", "query"),
        ("/v2/rerank", {"documents": []}, 400, "out_of_range", "documents"),
        ("/v2/rerank", {"documents": MANY}, 400, "out_of_range", "documents"),
        ("/v2/rerank", {"documents": ["x", 7]}, 400, "invalid_value", "documents"),
        ("/v2/rerank", {"documents": ["x", {"image": "y"}]}, 400, "invalid_value", "documents"),
        ("/v2/rerank", {"documents": [{"a": "x"}], "rank_fields": ["b"]}, 400, "invalid_value", "documents"),
        ("/v2/rerank", {"documents": ["\ud800"]}, 400, "ill_formed_text", "documents"),
        ("/v2/rerank", {"documents": [LONG]}, 400, "text_too_long", "documents"),
        ("/v2/rerank", {"documents": None}, 400, "invalid_request", None),
        ("/v2/rerank", {"top_n": -1}, 400, "out_of_range", "top_n"),
        ("/v2/rerank", {"relevant_spans": {"threshold": math.nan}}, 400, "not_finite", "relevant_spans"),
        ("/v2/rerank", {"documents": ["x"] * 2000, "explain": True}, 400, "out_of_range", "top_n"),
        ("/v2/rerank", {"model": "nosuch"}, 404, "unknown_model", None),
        ("/v2/rerank", {"model": "minilm@nosuch"}, 400, "unknown_measure", None),
        ("/v2/rerank", {"measure": "nosuch"}, 400, "unknown_measure", "measure"),
        ("/v2/rerank", NO_UNIT, 400, "not_explainable", None),
        ("/v1/embeddings", {"input": ""}, 400, "empty_text", "input"),
        ("/v1/embeddings", {"input": []}, 400, "out_of_range", "input"),
        ("/v1/embeddings", {"input": MANY}, 400, "out_of_range", "input"),
        ("/v1/embeddings", {"input": LONG}, 400, "text_too_long", "input"),
        ("/v1/embeddings", {"input": ["a", 7]}, 400, "invalid_value", "input"),
        ("/v1/embeddings", {"input": "a\x00"}, 400, "ill_formed_text", "input"),
        ("/v1/embeddings", {"model": "\ud800"}, 400, "ill_formed_text", "model"),
        ("/v1/embeddings", {"encoding_format": "int8"}, 400, "invalid_value", "encoding_format"),
        ("/v1/embeddings", {"dimensions": -1}, 400, "out_of_range", "dimensions"),
        ("/v1/embeddings", {"dimensions": 385}, 400, "out_of_range", "dimensions"),
        ("/v1/embeddings", {"dimensions": 10**30}, 400, "out_of_range", "dimensions"),
        ("/v1/embeddings", {"model": "nosuch"}, 404, "unknown_model", None),
        ("/score", {}, 400, "invalid_request", None),
        ("/score", {"text_1": "a"}, 400, "invalid_request", None),
        ("/score", {"text_1": "a", "documents": "b"}, 400, "invalid_request", None),
        ("/score", {"text_1": "a", "text_2": "b", "items": "c"}, 400, "invalid_request", None),
        ("/score", {"text_1": ["a", "a"], "text_2": "b"}, 400, "invalid_request", None),
        ("/score", {"text_1": ["a", "a"], "text_2": ["a", "b", "c"]}, 400, "invalid_request", None),
        ("/score", {"text_1": "a", "text_2": []}, 400, "out_of_range", "text_2"),
        ("/score", {"text_1": "a", "text_2": [" "]}, 400, "empty_text", "text_2"),
        ("/score", {"text_1": "a", "text_2": [3]}, 400, "invalid_value", "text_2"),
        ("/score", {"text_1": "a", "text_2": MANY}, 400, "out_of_range", "text_2"),
        ("/score", {"text_1": "a", "text_2": "b", "measure": "nosuch"}, 400, "unknown_measure", "measure"),
    ],
)
def test_invalid_requests_are_refused(
    api: Api, path: str, change: dict[str, object], status: int, code: str, param: str | None
) -> None:
    check_error(api.post(path, VALID[path] | change), status, code, param)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v1/score", "/pooling"])
def test_other_paths_of_the_same_requests_refuse_alike(api: Api, path: str) -> None:
    field = "input" if path == "/pooling" else "query" if "rerank" in path else "text_1"
    body = {"documents": ["x"], "model": "minilm"} if "rerank" in path else {"model": "minilm"}
    more = {"text_2": "x"} if path == "/v1/score" else {}
    check_error(api.post(path, {**body, **more, field: ""}), 400, "empty_text", field)


def test_every_missing_field_is_named(api: Api) -> None:
    for body, code, param, said in (
        ({"model": "minilm"}, "missing_field", "input", "/input"),
        ([1], "invalid_value", None, ""),
        ({"model": "minilm", "input": [""] * 100}, "empty_text", "input", "/input/0 and 99 more: "),
    ):
        assert said in check_error(api.post("/v1/embeddings", body), 400, code, param)


def test_all_refusals_under_v1_have_the_shape_of_openai(http: httpx2.Client) -> None:
    path = "/v1/embeddings"
    check_error(http.post("/v1/chat/completions", json={}), 404, "unknown_route")
    check_error(http.get("/v1/"), 404, "unknown_route")
    wrong_method = http.get(path)
    check_error(wrong_method, 405, "method_not_allowed")
    assert wrong_method.headers["allow"] == "POST"
    check_error(http.post(path, content=b"{", headers=JSON), 400, "malformed_json")
    check_error(http.post(path, content=b"{}", headers={"content-type": "text/plain"}), 415, "unsupported_media_type")
    check_error(http.post(path, content=b"x" * (BODY_LIMIT + 1), headers=JSON), 413, "body_too_large")
    check_error(http.get("/v1"), 404, "unknown_route")
    assert http.get("/v10/models").headers["content-type"] == "application/problem+json", "that is not under /v1/"


@pytest.mark.parametrize("path", ["/embed", "/embed_all", "/", "/tokenize"])
@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ([], "out_of_range"),
        ("", "empty_text"),
        (["x", ""], "empty_text"),
        ([1, 10**6], "out_of_range"),
        ([1.5], "invalid_value"),
        (None, "invalid_value"),
        (MANY, "out_of_range"),
    ],
)
def test_invalid_inputs_are_refused_as_tei_does(api: Api, path: str, inputs: object, code: str) -> None:
    if path == "/tokenize" and inputs == [1, 10**6]:
        code = "token_arrays_not_supported"
    assert check_tei_error(api.post(path, {"inputs": inputs}), code).startswith("/inputs")


@pytest.mark.parametrize("ids", [[], [[]], [-1], [10**6], [1.5], None, "x", [10**30]])
def test_ids_that_are_not_in_the_vocabulary_are_refused(api: Api, ids: object) -> None:
    refused = api.post("/decode", {"ids": ids})
    assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")


def test_too_many_token_vectors_are_refused(api: Api) -> None:
    refused = api.post("/embed_all", {"inputs": [f"{i} " + "word " * 600 for i in range(33)]})
    assert "8,448 token vectors exceed the limit of 8,192" in check_tei_error(refused, "out_of_range")


def test_documents_and_texts_together_are_refused(api: Api) -> None:
    both = VALID["/v2/rerank"] | {"texts": VALID["/v2/rerank"]["documents"]}
    assert "either documents or texts" in check_tei_error(api.post("/rerank", both), "invalid_request")
    assert len(api.ok("/v2/rerank", both)["results"]) == 2, "there it is no field"


def test_a_doubled_version_in_the_path_is_explained(api: Api) -> None:
    refused = api.post("/v1/v2/rerank", VALID["/v2/rerank"])
    assert "/v2/rerank is meant: use the base address without /v1" in check_error(refused, 404, "unknown_route")
