"""POST /v1/embeddings with OpenAI's own client."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import openai
import pytest
from sentence_transformers import SentenceTransformer

from semblance.models.embeddings import Floats
from semblance.service.model_loading.registry import read_source
from tests.integration.conftest import BODY_LIMIT, Api
from tests.support.project import PROJECT

TEXTS = [
    "A man is playing a guitar.",
    "Καλημέρα κόσμε",
    "数据库 — こんにちは",
    "naïve café 🙂👩‍👩‍👧",
    "مرحبا بالعالم",
    "x",
    "A man is playing a guitar.",
    "two lines\nof text",
]
PATH = "/v1/embeddings"


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(scope="module")
def oracle() -> SentenceTransformer:
    return SentenceTransformer(str(read_source("minilm").location), device="cpu")


def vectors(client: openai.OpenAI, texts: list[str], **more: Any) -> Floats:
    answer = client.embeddings.create(model="minilm", input=texts, **more)
    assert [each.index for each in answer.data] == list(range(len(texts)))
    return np.array([each.embedding for each in answer.data], np.float32)


def refused(api: Api, body: object, status: int, code: str, param: str | None) -> str:
    return check_error(api.post(PATH, body), status, code, param)


def check_error(answer: httpx2.Response, status: int, code: str, param: str | None = None) -> str:
    """The message of an error in OpenAI's shape."""
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert answer.json() == {"error": error, "message": error["message"], "detail": error["message"], "code": code}
    assert sorted(error) == ["code", "message", "param", "type"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
    message: str = error["message"]
    return message


@pytest.mark.parametrize("texts", [TEXTS, [f"{'very ' * (i % 37)}long story number {i}" for i in range(150)]])
def test_vectors_equal_those_of_sentence_transformers(
    client: openai.OpenAI, oracle: SentenceTransformer, texts: list[str]
) -> None:
    expected = oracle.encode(texts, normalize_embeddings=True)
    difference = float(np.abs(vectors(client, texts) - expected).max())
    print(f"largest difference of a number: {difference:.1e}")
    assert difference < 1e-5


def test_floats_and_base64_contain_the_same_numbers(client: openai.OpenAI) -> None:
    by_default = vectors(client, TEXTS)  # the client asks for base64 and decodes it
    as_floats = vectors(client, TEXTS, encoding_format="float")
    assert np.array_equal(by_default, as_floats)
    raw: Any = client.embeddings.create(model="minilm", input=TEXTS, encoding_format="base64").data[0].embedding
    assert np.array_equal(np.frombuffer(base64.b64decode(raw), "<f4"), as_floats[0])


@pytest.mark.parametrize("dimensions", [1, 64, 383, 384])
def test_fewer_dimensions_are_the_first_ones_normalized(client: openai.OpenAI, dimensions: int) -> None:
    whole = vectors(client, TEXTS).astype(np.float64)[:, :dimensions]
    expected = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    cut = vectors(client, TEXTS, dimensions=dimensions)
    assert cut.shape == (len(TEXTS), dimensions)
    assert np.linalg.norm(cut, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert np.abs(cut - expected).max() < 1e-6


def test_a_string_is_a_list_of_one(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(model="minilm", input=TEXTS[0])
    assert (answer.object, answer.model, answer.data[0].object) == ("list", "minilm", "embedding")
    assert len(answer.data) == 1
    assert np.abs(np.array(answer.data[0].embedding) - vectors(client, TEXTS)[0]).max() < 1e-6
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 9, "seven words and marks, [CLS] and [SEP]"


def test_the_dot_product_is_the_cosine_of_similarity(client: openai.OpenAI, api: Api) -> None:
    left, right = vectors(client, ["A cat sleeps.", "The kitten naps."]).astype(np.float64)
    pair = {"a": "A cat sleeps.", "b": "The kitten naps."}
    scores = api.ok("/similarity", {"pairs": [pair], "model": "minilm"})["scores"]
    assert float(left @ right) == pytest.approx(scores[0], abs=1e-6)


def test_long_texts_are_refused_unless_truncate_is_set(client: openai.OpenAI) -> None:
    long = "word " * 600 + "end"
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="minilm", input=["short", long])
    assert (caught.value.code, caught.value.param) == ("text_too_long", "input")
    assert "/input/1" in caught.value.message
    assert "truncate" in caught.value.message
    ends = {
        end: client.embeddings.create(model="minilm", input=["short", long], extra_body={"truncate": end})
        for end in ("END", "START")
    }
    for answer in ends.values():
        assert answer.model_extra is not None
        assert answer.model_extra["truncated"] == [False, True]
    assert ends["END"].data[0].embedding == pytest.approx(ends["START"].data[0].embedding, abs=1e-6)
    assert ends["END"].data[1].embedding != pytest.approx(ends["START"].data[1].embedding, abs=1e-3)


def test_unknown_fields_are_ignored_and_null_is_the_default(api: Api) -> None:
    plain = api.ok(PATH, {"model": "minilm", "input": "A cat."})
    more = {"user": "someone", "colour": [1], "encoding_format": None, "dimensions": None}
    assert api.ok(PATH, {"model": "minilm", "input": "A cat.", **more}) == plain
    assert plain["space"] == api.ok("/similarity", {"pairs": [{"a": "x", "b": "y"}], "model": "minilm"})["space"]


def test_errors_raise_the_typed_exceptions_of_the_client(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.embeddings.create(model="text-embedding-3-small", input="x")
    assert (unknown.value.code, unknown.value.type) == ("unknown_model", "not_found_error")
    assert "minilm" in unknown.value.message
    with pytest.raises(openai.BadRequestError) as empty:
        client.embeddings.create(model="minilm", input=["fine", " ", ""])
    assert (empty.value.code, empty.value.param) == ("empty_text", "input")
    assert "/input/1" in empty.value.message
    assert "/input/2" in empty.value.message
    with pytest.raises(openai.BadRequestError) as large:
        client.embeddings.create(model="minilm", input="x", dimensions=385)
    assert (large.value.code, large.value.param) == ("out_of_range", "dimensions")
    with pytest.raises(openai.NotFoundError) as path:
        client.files.list()
    assert path.value.code == "unknown_route"


def test_the_client_lists_the_models(client: openai.OpenAI, api: Api) -> None:
    listed = client.models.list().data
    assert [each.id for each in listed] == [each["name"] for each in api.http.get("/models").json()["models"]]
    assert {each.owned_by for each in listed} == {"semblance"}
    assert client.models.retrieve("minilm") == listed[-1]
    assert 1.6e9 < listed[0].created <= time.time(), "seconds of Unix, in the past"  # an order, not a duration
    with pytest.raises(openai.NotFoundError) as unknown:
        client.models.retrieve("org/nosuch")
    assert unknown.value.code == "unknown_model"
    assert "minilm-words" in unknown.value.message


@pytest.mark.parametrize("tokens", [[1, 2, 3], [[1, 2], [3]]])
def test_token_ids_are_refused_with_their_own_code(client: openai.OpenAI, tokens: Any) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="minilm", input=tokens)
    assert caught.value.code == "token_arrays_not_supported"
    assert "check_embedding_ctx_length=False" in caught.value.message


@pytest.mark.parametrize(
    ("change", "status", "code", "param"),
    [
        ({"input": ""}, 400, "empty_text", "input"),
        ({"input": []}, 400, "out_of_range", "input"),
        ({"input": ["a"] * 5000}, 400, "out_of_range", "input"),
        ({"input": "word " * 30_000}, 400, "text_too_long", "input"),
        ({"input": ["a", 7]}, 400, "invalid_value", "input"),
        ({"input": {"a": 1}}, 400, "invalid_value", "input"),
        ({"input": None}, 400, "invalid_value", "input"),
        ({"input": "a\x00"}, 400, "ill_formed_text", "input"),
        ({"input": "\ud800"}, 400, "ill_formed_text", "input"),
        ({"model": None}, 400, "invalid_value", "model"),
        ({"model": "\ud800"}, 400, "ill_formed_text", "model"),
        ({"encoding_format": "int8"}, 400, "invalid_value", "encoding_format"),
        ({"dimensions": 0}, 400, "out_of_range", "dimensions"),
        ({"dimensions": "3"}, 400, "invalid_value", "dimensions"),
        ({"dimensions": 10**30}, 400, "out_of_range", "dimensions"),
        ({"truncate": "MIDDLE"}, 400, "invalid_value", "truncate"),
        ({"model": "nosuch"}, 404, "unknown_model", None),
    ],
)
def test_invalid_inputs_are_refused(
    api: Api, change: dict[str, object], status: int, code: str, param: str | None
) -> None:
    refused(api, {"model": "minilm", "input": "fine"} | change, status, code, param)


def test_every_missing_field_is_named(api: Api) -> None:
    assert "/model" in refused(api, {"input": "fine"}, 400, "missing_field", "model")
    assert "/input" in refused(api, {"model": "minilm"}, 400, "missing_field", "input")
    refused(api, [1], 400, "invalid_value", None)
    assert "and 90 more" in refused(api, {"model": "minilm", "input": [""] * 100}, 400, "empty_text", "input")


def test_all_refusals_under_v1_have_the_shape_of_openai(http: httpx2.Client) -> None:
    json = {"content-type": "application/json"}
    check_error(http.post("/v1/chat/completions", json={}), 404, "unknown_route")
    check_error(http.get("/v1/"), 404, "unknown_route")
    wrong_method = http.get(PATH)
    check_error(wrong_method, 405, "method_not_allowed")
    assert wrong_method.headers["allow"] == "POST"
    check_error(http.post(PATH, content=b"{", headers=json), 400, "malformed_json")
    check_error(http.post(PATH, content=b"{}", headers={"content-type": "text/plain"}), 415, "unsupported_media_type")
    large = b'{"input": "' + b"x" * BODY_LIMIT + b'"}'
    check_error(http.post(PATH, content=large, headers=json), 413, "body_too_large")
    pieces = (large[i : i + 100_000] for i in range(0, len(large), 100_000))
    check_error(http.post(PATH, content=pieces, headers=json), 413, "body_too_large")
    assert http.get("/v1").headers["content-type"] == "application/problem+json", "that is not under /v1/"


README = (PROJECT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("code", "shown"), re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL))
def test_the_examples_in_the_readme_print_their_output(url: str, code: str, shown: str) -> None:
    command = [sys.executable, "-c", code.replace("http://127.0.0.1:8000", url)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == shown
