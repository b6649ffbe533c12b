"""POST /v1/embeddings with OpenAI's own client."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import openai
import pytest

from semblance.models.embeddings import Floats
from tests.integration.conftest import Api
from tests.support.small_model import BUILT_IN_FOLDER

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


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


def vectors(client: openai.OpenAI, texts: list[str], **more: Any) -> Floats:
    answer = client.embeddings.create(model="minilm", input=texts, **more)
    assert [each.index for each in answer.data] == list(range(len(texts)))
    return np.array([each.embedding for each in answer.data], np.float32)


def test_vectors_equal_those_of_sentence_transformers(client: openai.OpenAI) -> None:
    from sentence_transformers import SentenceTransformer

    texts = TEXTS + [f"{'very ' * (i % 37)}long story number {i}" for i in range(40)]
    expected = SentenceTransformer(str(BUILT_IN_FOLDER), device="cpu").encode(texts, normalize_embeddings=True)
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
    scores = api.scores(("A cat sleeps.", "The kitten naps."), model="minilm")
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
    plain = api.ok("/v1/embeddings", {"model": "minilm", "input": "A cat."})
    more = {"user": "someone", "colour": [1], "encoding_format": None, "dimensions": None}
    assert api.ok("/v1/embeddings", {"model": "minilm", "input": "A cat.", **more}) == plain
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
