"""The routes of Ollama, and what its clients and `curl` send to them."""

from __future__ import annotations

from importlib.metadata import version

import httpx2
import numpy as np
import pytest

from tests.integration.conftest import Api, code_of, served

CAT, RAIN = "A cat sleeps.", "It is raining."
BODY = b'{"model": "minilm", "input": "A cat sleeps."}'
FORM = "application/x-www-form-urlencoded"


def test_vectors_are_those_of_embeddings(api: Api) -> None:
    body = {"model": "minilm", "input": [CAT, RAIN]}
    expected = [vector["embedding"] for vector in api.ok("/v1/embeddings", body)["data"]]
    for name in ("minilm", "minilm:latest"):
        answer = api.ok("/api/embed", {**body, "model": name, "keep_alive": "5m", "options": {"num_ctx": 8}})
        assert np.abs(np.array(answer["embeddings"]) - np.array(expected)).max() < 1e-6
        assert (answer["model"], answer["prompt_eval_count"]) == (name, 12)
        assert answer["total_duration"] > 0
        earlier = api.ok("/api/embeddings", {"model": name, "prompt": RAIN})["embedding"]
        assert np.abs(np.array(earlier) - np.array(expected[1])).max() < 1e-6
    assert len(api.ok("/api/embed", {"model": "minilm", "input": CAT, "dimensions": 9})["embeddings"][0]) == 9


@pytest.mark.parametrize("texts", [{}, {"input": None}, {"input": ""}, {"input": []}])
def test_a_request_without_text_has_no_vectors(api: Api, texts: dict[str, object]) -> None:
    answer = api.ok("/api/embed", {"model": "minilm"} | texts)
    assert (answer["embeddings"], answer["prompt_eval_count"]) == ([], 0)


def test_the_served_models_are_listed_and_shown(api: Api) -> None:
    listed = api.get("/api/tags")["models"]
    served = ("minilm-graded", "minilm-words", "minilm-clrcmd", "minilm")
    assert [model["name"] for model in listed] == [f"{name}:latest" for name in served]
    for model in listed:
        assert model["model"] == model["name"]
        assert model["capabilities"] == ["embedding"]
        assert model["size"] > 1_000_000
    for body in ({"model": "minilm:latest"}, {"name": "minilm"}, {"model": "minilm", "verbose": True}):
        info = api.ok("/api/show", body)["model_info"]
        architecture = info["general.architecture"]
        assert (info[f"{architecture}.embedding_length"], info[f"{architecture}.context_length"]) == (384, 256)
    assert api.get("/api/version") == {"version": version("semblance-server")}


def test_aliases_may_have_tags_of_their_own() -> None:
    with served(model_aliases="nomic-embed-text:latest=minilm,bge:m3=minilm,mxbai=minilm-graded") as (_, api):
        names = [model["name"] for model in api.get("/api/tags")["models"]]
        assert names[4:] == ["nomic-embed-text:latest", "bge:m3", "mxbai:latest"]
        for name in names[4:]:
            assert len(api.ok("/api/embed", {"model": name, "input": CAT})["embeddings"]) == 1
        assert api.post("/api/embed", {"model": "bge", "input": CAT}).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/api/embed", {"model": "nosuch", "input": "x"}, 404, "unknown_model"),
        ("/api/embed", {"model": "nosuch", "input": []}, 404, "unknown_model"),
        ("/api/embed", {"model": "minilm:v2", "input": "x"}, 404, "unknown_model"),
        ("/api/embed", {"input": "x"}, 400, "missing_field"),
        ("/api/embed", {"model": "minilm", "input": 7}, 400, "invalid_value"),
        ("/api/embed", {"model": "minilm", "input": [CAT, 7]}, 400, "invalid_value"),
        ("/api/embed", {"model": "minilm", "input": [1, 2]}, 400, "token_arrays_not_supported"),
        ("/api/embed", {"model": "minilm", "input": "\ud800"}, 400, "ill_formed_text"),
        ("/api/embed", {"model": "minilm", "input": CAT, "dimensions": 385}, 400, "out_of_range"),
        ("/api/embed", {"model": "minilm", "input": [CAT] * 5000}, 400, "out_of_range"),
        ("/api/embed", {"model": "minilm", "input": "word " * 500, "truncate": False}, 400, "text_too_long"),
        ("/api/embeddings", {"model": "nosuch", "prompt": ""}, 404, "unknown_model"),
        ("/api/embeddings", {"model": "minilm", "prompt": "word " * 30_000}, 400, "text_too_long"),
        ("/api/show", {}, 400, "invalid_request"),
        ("/api/show", {"model": "nosuch"}, 404, "unknown_model"),
        ("/api/generate", {"model": "minilm", "prompt": "x"}, 404, "unknown_route"),
    ],
)
def test_errors_have_the_shape_of_ollama(api: Api, path: str, body: dict[str, object], status: int, code: str) -> None:
    refused = api.post(path, body)
    assert code_of(refused) == (status, code)
    assert sorted(refused.json()) == ["code", "error"]
    assert isinstance(refused.json()["error"], str)


@pytest.mark.parametrize(
    "content_type", ["", FORM, "text/plain", "text/json", "application/x-ndjson", "nonsense", None]
)
@pytest.mark.parametrize("path", ["/api/embed", "/api/show", "/api/embeddings", "/api/embed/"])
def test_programs_may_send_any_content_type(http: httpx2.Client, path: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    assert http.post(path, content=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize("content_type", [FORM, "text/plain", "multipart/form-data; boundary=x", "text/json", "", None])
@pytest.mark.parametrize(
    "browser",
    [
        {"origin": "{own}"},
        {"origin": "{own}", "sec-fetch-site": "same-origin"},
        {"origin": "null", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
    ],
    ids=str,
)
def test_pages_must_declare_json(http: httpx2.Client, content_type: str | None, browser: dict[str, str]) -> None:
    """Even own ones: those of others are rejected before, whatever the type."""
    headers = {name: value.replace("{own}", str(http.base_url).rstrip("/")) for name, value in browser.items()}
    headers |= {} if content_type is None else {"content-type": content_type}
    assert code_of(http.post("/api/embed", content=BODY, headers=headers)) == (415, "unsupported_media_type")
    declared = headers | {"content-type": "application/json"}
    assert http.post("/api/embed", content=BODY, headers=declared).status_code == 200


@pytest.mark.parametrize("content_type", [FORM, "text/plain", "application/json", "text/json", None])
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_pages_of_others_are_rejected_with_any_type(http: httpx2.Client, content_type: str | None, origin: str) -> None:
    headers = {"origin": origin} | ({} if content_type is None else {"content-type": content_type})
    for path in ("/api/embed", "/api/show", "/api/embeddings"):
        assert code_of(http.post(path, content=BODY, headers=headers)) == (403, "origin_not_allowed")


@pytest.mark.parametrize("path", ["/similarity", "/v1/embeddings", "/embed", "/", "/collections/default/documents"])
def test_other_routes_still_need_a_declared_type(http: httpx2.Client, path: str) -> None:
    for content_type in (FORM, "text/plain", "text/json"):
        refused = http.post(path, content=BODY, headers={"content-type": content_type})
        assert code_of(refused) == (415, "unsupported_media_type")


def test_clients_find_the_service_at_its_root(http: httpx2.Client) -> None:
    assert (http.head("/").status_code, http.get("/").status_code) == (200, 200)
    assert http.head("/api/tags").status_code == http.head("/api/version").status_code == 200
