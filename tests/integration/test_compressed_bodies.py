"""Bodies that are compressed by gzip, and NDJSON under its other names."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import httpx2
import pytest

from tests.integration.conftest import BODY_LIMIT, NDJSON, Api, code_of

JSON = {"content-type": "application/json"}
TEXT = "A kitten naps."
PAIRS = {"pairs": [{"a": TEXT, "b": TEXT}]}
REQUESTS = [
    ("/similarity", PAIRS),
    ("/v1/embeddings", {"model": "minilm", "input": TEXT}),
    ("/api/embed", {"model": "minilm", "input": TEXT}),
    ("/explain", {"a": TEXT, "b": TEXT}),  # FastAPI reads this body itself
]


def post(http: httpx2.Client, path: str, content: bytes | Iterator[bytes], **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post(path, content=content, headers={"content-encoding": "gzip"} | JSON | named)


@pytest.mark.parametrize(("path", "body"), REQUESTS, ids=[path for path, _ in REQUESTS])
def test_a_compressed_body_is_answered_as_a_plain_one(http: httpx2.Client, path: str, body: dict[str, object]) -> None:
    packed = gzip.compress(json.dumps(body).encode())
    plain = http.post(path, json=body)
    for content in (packed, (packed[i : i + 7] for i in range(0, len(packed), 7))):
        for name in ("gzip",) if not isinstance(content, bytes) else ("gzip", "GZIP", "x-gzip"):
            answer = post(http, path, content, content_encoding=name)
            assert answer.status_code == plain.status_code == 200
            assert answer.json().keys() == plain.json().keys()
            assert answer.json().get("scores") == plain.json().get("scores")


@pytest.mark.parametrize(("path", "body"), REQUESTS, ids=[path for path, _ in REQUESTS])
@pytest.mark.parametrize("cut", [0, -1, -4, 12])
def test_a_damaged_compressed_body_is_malformed(
    http: httpx2.Client, path: str, body: dict[str, object], cut: int
) -> None:
    plain = json.dumps(body).encode()
    refused = post(http, path, gzip.compress(plain)[:cut] if cut else plain)
    assert (refused.status_code, "malformed_json" in refused.text) == (400, True)
    assert "not valid gzip" in refused.text


@pytest.mark.parametrize("path", ["/similarity", "/v1/embeddings", "/explain", "/collections/default/documents"])
def test_a_bomb_gets_413(http: httpx2.Client, path: str) -> None:
    bomb = gzip.compress(b'{"a": "' + b"x" * 100 * BODY_LIMIT + b'"}')
    assert len(bomb) < BODY_LIMIT
    assert code_of(post(http, path, bomb)) == (413, "body_too_large")
    assert code_of(post(http, path, iter([bomb]))) == (413, "body_too_large"), "without a length"


def test_a_body_at_the_limit_is_read(http: httpx2.Client) -> None:
    body = json.dumps(PAIRS).encode()
    filled = body + b" " * (BODY_LIMIT - len(body))
    assert post(http, "/similarity", gzip.compress(filled)).status_code == 200
    assert code_of(post(http, "/similarity", gzip.compress(filled + b" "))) == (413, "body_too_large")


def test_compressed_lines_are_stored(api: Api) -> None:
    api.collection("zipped")
    lines = [json.dumps({"id": str(i), "text": f"text number {i}"}) for i in range(600)]
    packed = gzip.compress("\n".join(lines).encode())
    answer = post(api.http, "/collections/zipped/documents", packed, **NDJSON_HEADERS)
    assert json.loads(answer.text.splitlines()[-1])["upserted"] == 600
    assert api.get("/collections/zipped")["count"] == 600


def test_damaged_lines_are_told_after_what_is_stored(api: Api) -> None:
    api.collection("zipped")
    lines = b"".join(json.dumps({"id": str(i), "text": f"text number {i}"}).encode() + b"\n" for i in range(600))
    answer = post(api.http, "/collections/zipped/documents", gzip.compress(lines)[:-1], **NDJSON_HEADERS)
    *_, last = map(json.loads, answer.text.splitlines())
    assert (last["error"], "its end is missing" in last["detail"]) == ("malformed_json", True)
    assert api.get("/collections/zipped")["count"] >= last["through_line"]


def test_a_line_that_inflates_beyond_the_limit_is_rejected_alone(api: Api) -> None:
    api.collection("zipped")
    long = b'{"id": "1", "text": "' + b"x" * 20 * BODY_LIMIT + b'"}'
    lines = [b'{"id": "0", "text": "first"}', long, b"\n" * 10**6, b'{"id": "2", "text": "third"}']
    answer = post(api.http, "/collections/zipped/documents", gzip.compress(b"\n".join(lines)), **NDJSON_HEADERS)
    parsed = [json.loads(line) for line in answer.text.splitlines()]
    assert [error["code"] for line in parsed for error in line.get("errors", ())] == ["body_too_large"]
    assert (parsed[-1]["upserted"], parsed[-1]["failed"]) == (2, 1)


NDJSON_HEADERS = {name.replace("-", "_"): value for name, value in NDJSON.items()}
NAMES = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
         "application/jsonlines; charset=utf-8", "application/json-lines", "APPLICATION/JSONL"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_lines_of_json_have_several_names(api: Api, name: str) -> None:
    api.collection("lines")
    content = b'{"id": "1", "text": "first"}\n{"id": "2", "text": "second"}\n'
    answer = api.http.post("/collections/lines/documents", content=content, headers={"content-type": name})
    assert json.loads(answer.text.splitlines()[-1])["upserted"] == 2


@pytest.mark.parametrize("name", ["application/jsonlx", "text/x-ndjson", "text/csv", "jsonl"])
def test_other_types_of_documents_are_told_both(api: Api, name: str) -> None:
    refused = api.http.post("/collections/default/documents", content=b"{}\n", headers={"content-type": name})
    assert code_of(refused) == (415, "unsupported_media_type")
    assert "application/json, or documents as application/x-ndjson" in refused.json()["detail"]


def test_lines_are_for_documents_alone(api: Api) -> None:
    refused = api.http.post("/similarity", content=b"{}\n", headers={"content-type": "application/jsonl"})
    assert code_of(refused) == (415, "unsupported_media_type")
    assert "ndjson" not in refused.json()["detail"]
