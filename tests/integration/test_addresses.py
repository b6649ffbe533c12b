"""Addresses as clients make them up: further spellings, doubled parts, HEAD, Azure's path."""

from __future__ import annotations

import hashlib

import httpx2
import pytest

from tests.integration.conftest import Api, code_of, served
from tests.integration.raw_http import head, open_connection, read_answer, read_until

TEXT = "A kitten naps."
EMBEDDINGS = {"model": "minilm", "input": TEXT}
RERANK = {"query": TEXT, "documents": [TEXT]}
KEY = "smb_azure"


@pytest.mark.parametrize("path", ["/embeddings", "/embeddings/", "/v1/embeddings/"])
def test_embeddings_have_further_addresses(api: Api, path: str) -> None:
    expected = api.ok("/v1/embeddings", EMBEDDINGS)
    assert api.ok(path, EMBEDDINGS) == expected
    refused = api.post(path, {"model": "minilm", "input": ""})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "empty_text"), "in the shape of OpenAI"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/similarity/", {"pairs": [{"a": TEXT, "b": TEXT}]}),
        ("/search/", {"query": TEXT}),
        ("/v1/rerank/", RERANK),
        ("/rerank/", RERANK),
        ("/score/", {"text_1": TEXT, "text_2": TEXT}),
        ("/embed/", {"inputs": TEXT}),
        ("/api/embed/", EMBEDDINGS),
        ("/collections/default/count/", {}),
    ],
)
def test_a_slash_at_the_end_changes_nothing(api: Api, path: str, body: dict[str, object]) -> None:
    untimed = [api.ok(each, body) for each in (path, path.rstrip("/"))]
    for answer in untimed:
        if isinstance(answer, dict):
            for name in ("id", "created", "total_duration"):
                answer.pop(name, None)
    assert untimed[0] == untimed[1]


def test_reading_routes_allow_a_slash_at_the_end(http: httpx2.Client) -> None:
    for path in ("/v1/models/", "/v1/models/minilm/", "/collections/", "/collections/default/", "/live/", "/api/tags/"):
        assert http.get(path).status_code == 200, path


def test_ids_of_documents_may_end_in_a_slash(api: Api) -> None:
    api.collection("slashes")
    api.store("slashes", {"id": "a/", "text": TEXT}, {"id": "a", "text": "Another text."})
    assert api.get("/collections/slashes/documents/a/")["text"] == TEXT
    assert api.http.delete("/collections/slashes/documents/a/").status_code == 200
    assert [each["id"] for each in api.get("/collections/slashes/documents/")["documents"]] == ["a"]


@pytest.mark.parametrize(
    ("path", "meant", "without"),
    [
        ("//v1/embeddings", "/v1/embeddings", "a slash at its end"),
        ("/v1//embeddings", "/v1/embeddings", "a slash at its end"),
        ("/v1/v1/embeddings", "/v1/embeddings", "/v1"),
        ("/v2/v1/rerank", "/v1/rerank", "/v2"),
        ("/v2/v2/rerank", "/v2/rerank", "/v2"),
        ("/v1/rerank/rerank", "/rerank", "/v1/rerank"),
        ("/v1/rerank/v1/rerank", "/v1/rerank", "/v1/rerank"),
        ("/v1/similarity", "/similarity", "/v1"),
        ("/v1/api/tags", "/api/tags", "/v1"),
        ("/api/v1/models/minilm", "/v1/models/minilm", "/api"),
        ("/semblance/collections/faq/documents/1", "/collections/faq/documents/1", "/semblance"),
    ],
)
def test_a_wrong_base_address_is_explained(http: httpx2.Client, url: str, path: str, meant: str, without: str) -> None:
    refused = http.post(url + path, json=EMBEDDINGS)
    assert code_of(refused) == (404, "unknown_route")
    assert f"unknown path; {meant} is meant: use the base address without {without}" in refused.text


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/serach", "/search"),
        ("/v1/embedding", "/v1/embeddings"),
        ("/V1/Embeddings", "/v1/embeddings"),
        ("/collections/faq/document", "/collections/{name}/documents"),
        ("/similarities", "/similarity"),
    ],
)
def test_a_misspelled_path_is_told_the_nearest_one(api: Api, path: str, nearest: str) -> None:
    refused = api.post(path, {})
    assert code_of(refused) == (404, "unknown_route")
    assert f"the nearest one is {nearest}, see /docs" in refused.text


@pytest.mark.parametrize("path", ["/nosuch", "/v1/chat/completions", "/v1/completions", "/a" * 5000, "/favicon.ico"])
def test_a_path_like_no_other_names_the_documentation(api: Api, path: str) -> None:
    refused = api.post(path, {})
    assert code_of(refused) == (404, "unknown_route")
    assert "unknown path; see /docs" in refused.text


@pytest.mark.parametrize(
    "path",
    ["/", "/live", "/ready", "/metrics", "/models", "/v1/models", "/collections/default", "/docs", "/openapi.json",
     "/docs/assets/swagger-ui.css", "/explain?a=A+cat&b=A+dog", "/collections/default/documents/shipping-001"],
)  # fmt: skip
def test_head_is_get_without_a_body(http: httpx2.Client, url: str, path: str) -> None:
    as_get = http.get(path)
    with open_connection(url) as connection:
        for _ in range(2):  # on one connection: bytes of a body would be read as the next response
            connection.sendall(head("HEAD", path))
            begun = read_until(connection, b"\r\n\r\n")
            assert begun.startswith(b"HTTP/1.1 200 ")
            assert f"content-type: {as_get.headers['content-type']}".encode() in begun.lower()
        connection.sendall(head("GET", "/live"))
        assert read_answer(connection).json == {"status": "live"}


def test_head_of_what_is_not_there_or_not_readable(http: httpx2.Client) -> None:
    for path, status in (("/nosuch", 404), ("/collections/nosuch", 404), ("/similarity", 405), ("/explain", 422)):
        answer = http.head(path)
        assert (answer.status_code, answer.content) == (status, b""), path
    page = http.get("/metrics").text
    assert 'method="HEAD",route="/collections/{name}",status="404"' in page, "counted under its route"


def test_azure_paths_name_the_model(api: Api) -> None:
    path = "/openai/deployments/minilm/embeddings?api-version=2024-10-21"
    expected = api.ok("/v1/embeddings", EMBEDDINGS)
    assert api.ok(path, {"input": TEXT}) == expected
    assert api.ok(path, {"input": TEXT, "model": "text-embedding-ada-002"}) == expected
    refused = api.post("/openai/deployments/ada/embeddings", {"input": TEXT})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "unknown_model")
    assert "'ada'" in refused.json()["error"]["message"]
    chat = api.post("/openai/deployments/minilm/chat/completions", {})
    assert chat.json()["error"]["code"] == "unknown_route"


def test_an_api_version_is_ignored_and_other_parameters_are_not(api: Api) -> None:
    assert api.ok("/v1/embeddings?api-version=2024-10-21", EMBEDDINGS) == api.ok("/v1/embeddings", EMBEDDINGS)
    assert api.http.get("/v1/models?api-version=1").status_code == 200
    for query in ("api_version=1", "api-version=1&x=2"):
        refused = api.post(f"/v1/embeddings?{query}", EMBEDDINGS)
        assert (refused.status_code, refused.json()["code"]) == (400, "unknown_field")


def test_keys_guard_every_spelling_and_azure_sends_its_own_header() -> None:
    entry = f"azure:read:{hashlib.sha256(KEY.encode()).hexdigest()}"
    spellings = ["/v1/embeddings", "/embeddings", "/embeddings/", "/openai/deployments/minilm/embeddings"]
    with served(api_keys=entry, models="minilm") as (_, api):
        for path in spellings:
            assert api.post(path, EMBEDDINGS).status_code == 401
            for headers, status in (
                ({"api-key": KEY}, 200),
                ({"authorization": f"Bearer {KEY}"}, 200),
                ({"api-key": "wrong"}, 401),
                ({"api-key": KEY, "authorization": "Bearer wrong"}, 401),
            ):
                assert api.http.post(path, json=EMBEDDINGS, headers=headers).status_code == status, (path, headers)
        assert api.http.head("/models").status_code == 401
        assert api.http.put("/collections/x/", headers={"api-key": KEY}).status_code == 403, "it may only read"
