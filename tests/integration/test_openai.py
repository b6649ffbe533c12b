"""POST /v1/embeddings, as OpenAI's API has it; tests/clients/programs/openai calls it by OpenAI's own client."""

from __future__ import annotations

import base64
import time
from typing import Any

import numpy as np
import pytest

from semblance.models.embeddings import Floats
from semblance.models.tokenization import openai
from semblance.service.api.other_apis.encodings import numbers_of
from semblance.service.api.other_apis.texts import openai_decoder
from semblance.service.errors import InvalidRequest
from tests.integration.conftest import Api, code_of
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


def embed(api: Api, texts: Any, **more: Any) -> Any:
    return api.ok("/v1/embeddings", {"model": "minilm", "input": texts, **more})


def vectors(api: Api, texts: list[Any], **more: Any) -> Floats:
    answer = embed(api, texts, **more)
    assert [each["index"] for each in answer["data"]] == list(range(len(texts)))
    return np.array([each["embedding"] for each in answer["data"]], np.float32)


def test_vectors_equal_those_of_sentence_transformers(api: Api) -> None:
    from sentence_transformers import SentenceTransformer

    texts = TEXTS + [f"{'very ' * (i % 37)}long story number {i}" for i in range(40)]
    expected = SentenceTransformer(str(BUILT_IN_FOLDER), device="cpu").encode(texts, normalize_embeddings=True)
    difference = float(np.abs(vectors(api, texts) - expected).max())
    print(f"largest difference of a number: {difference:.1e}")
    assert difference < 1e-5


def test_floats_and_base64_contain_the_same_numbers(api: Api) -> None:
    coded = [each["embedding"] for each in embed(api, TEXTS, encoding_format="base64")["data"]]
    decoded = np.array([np.frombuffer(base64.b64decode(each), "<f4") for each in coded])
    assert np.array_equal(vectors(api, TEXTS), decoded)


@pytest.mark.parametrize("dimensions", [1, 64, 383, 384])
def test_fewer_dimensions_are_the_first_ones_normalized(api: Api, dimensions: int) -> None:
    whole = vectors(api, TEXTS).astype(np.float64)[:, :dimensions]
    expected = whole / np.linalg.norm(whole, axis=1, keepdims=True)
    cut = vectors(api, TEXTS, dimensions=dimensions)
    assert cut.shape == (len(TEXTS), dimensions)
    assert np.array_equal(vectors(api, TEXTS, dimensions=0), vectors(api, TEXTS))
    assert np.linalg.norm(cut, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert np.abs(cut - expected).max() < 1e-6


def test_without_a_model_the_default_one_embeds(api: Api) -> None:
    [default] = [each["name"] for each in api.get("/models")["models"] if each["default"]]
    body = {"input": TEXTS}
    assert api.ok("/v1/embeddings", body) == api.ok("/v1/embeddings", {**body, "model": default})


def test_a_string_is_a_list_of_one(api: Api) -> None:
    answer = embed(api, TEXTS[0])
    [only] = answer["data"]
    assert (answer["object"], answer["model"], only["object"]) == ("list", "minilm", "embedding")
    assert np.abs(np.array(only["embedding"]) - vectors(api, TEXTS)[0]).max() < 1e-6
    assert answer["usage"] == {"prompt_tokens": 9, "total_tokens": 9}, "seven words and marks, [CLS] and [SEP]"


def test_the_dot_product_is_the_cosine_of_similarity(api: Api) -> None:
    pair = ("A cat sleeps.", "The kitten naps.")
    left, right = vectors(api, list(pair)).astype(np.float64)
    assert [float(left @ right)] == pytest.approx(api.scores(pair, model="minilm"), abs=1e-6)


def test_long_texts_are_read_in_passages(api: Api) -> None:
    long = [f"Sentence {n} tells of the harbor, its ships and {n} sailors." for n in range(60)]
    answer = api.post("/v1/embeddings", {"model": "minilm", "input": [" ".join(long), "short"]})
    assert answer.headers["x-semblance-passages"] == str(answer.json()["usage"]["passages"])
    assert answer.json()["truncated"] == [False, False]
    whole, short = (np.array(each["embedding"]) for each in answer.json()["data"])
    assert [float(whole @ short)] == pytest.approx(api.scores((" ".join(long), "short"), model="minilm"), abs=1e-6)
    assert min(float(whole @ part) for part in vectors(api, long[::20])) > 0.5


def test_long_texts_are_rejected_or_truncated_if_asked(api: Api) -> None:
    body = {"model": "minilm", "input": ["short", "word " * 600 + "end"]}
    refused = api.post("/v1/embeddings", body | {"truncate": "NONE"})
    assert (*code_of(refused), refused.json()["error"]["param"]) == (400, "text_too_long", "input")
    assert "/input/1" in refused.json()["message"]
    assert "its 603 tokens exceed the 256 that are read" in refused.json()["message"]
    assert "truncate" in refused.json()["message"]
    end, start = (api.ok("/v1/embeddings", body | {"truncate": each}) for each in ("END", "START"))
    assert end["truncated"] == start["truncated"] == [False, True]
    same, other = (zip(*(each["data"][i]["embedding"] for each in (end, start)), strict=True) for i in (0, 1))
    assert max(abs(a - b) for a, b in same) < 1e-6
    assert max(abs(a - b) for a, b in other) > 1e-3


def test_truncate_prompt_tokens_keeps_the_last_tokens_unless_told_otherwise(api: Api) -> None:
    text, model = "the quick brown fox jumps over a lazy dog", "minilm"
    for fields, kept in (
        ({"truncate_prompt_tokens": 6}, "over a lazy dog"),
        ({"truncate_prompt_tokens": 6, "truncation_side": "right"}, "the quick brown fox"),
        ({"truncate_prompt_tokens": -1}, text),
    ):
        found, expected = embed(api, text, **fields), embed(api, kept)
        assert found["data"] == expected["data"], fields
        assert found["usage"]["total_tokens"] == len(kept.split()) + 2
    refused = api.post("/v1/embeddings", {"model": model, "input": text, "truncate_prompt_tokens": 0})
    assert code_of(refused) == (400, "invalid_value")
    assert "no token would be left" in refused.json()["message"]


def test_objects_with_text_are_texts(api: Api) -> None:
    objects = [{"text": text} for text in TEXTS[:2]]
    assert np.array_equal(vectors(api, objects), vectors(api, TEXTS[:2]))
    assert embed(api, objects[0])["data"] == embed(api, [TEXTS[0]])["data"]
    image = api.post("/v1/embeddings", {"model": "minilm", "input": ["x", {"image": "y"}]})
    assert code_of(image) == (400, "invalid_value")
    assert "/input/1" in image.json()["message"]


def test_numbers_have_the_type_that_voyage_asks_for(api: Api) -> None:
    whole = vectors(api, TEXTS, dimensions=30)
    for type_, dtype in {"float": "<f4", "int8": "i1", "uint8": "u1", "binary": "i1", "ubinary": "u1"}.items():
        expected = numbers_of(whole, type_)  # type: ignore[arg-type]
        fields = {"output_dtype": type_, "output_dimension": 30}
        found = [each["embedding"] for each in embed(api, TEXTS, **fields)["data"]]
        assert np.array_equal(np.array(found, dtype), expected)
        coded = [each["embedding"] for each in embed(api, TEXTS, **fields, encoding_format="base64")["data"]]
        assert np.array_equal(np.array([np.frombuffer(base64.b64decode(each), dtype) for each in coded]), expected)


def test_several_types_are_an_object_as_jina_has_it(api: Api) -> None:
    [one] = embed(api, "A cat.", embedding_type=["float", "ubinary", "base64"])["data"]
    for type_, found in one["embedding"].items():
        alone = {"embedding_type": type_, "encoding_format": "base64"}  # clients of OpenAI send that unasked
        assert embed(api, "A cat.", **alone)["data"][0]["embedding"] == found
        assert embed(api, "A cat.", encoding_type=type_)["data"][0]["embedding"] == found
    assert list(one["embedding"]) == ["float", "ubinary", "base64"]


def test_booleans_say_whether_long_texts_are_truncated(api: Api) -> None:
    body = {"model": "minilm", "input": "word " * 600 + "end"}
    end = api.ok("/v1/embeddings", body | {"truncate": "END"})
    for field in ("truncate", "truncation"):
        assert api.ok("/v1/embeddings", body | {field: True}) == end
        assert code_of(api.post("/v1/embeddings", body | {field: False})) == (400, "text_too_long")
    null = api.post("/v1/embeddings", body | {"truncate": None, "truncation": None})
    assert null.json() == api.post("/v1/embeddings", body).json()


def test_fields_of_the_same_meaning_exclude_each_other(api: Api) -> None:
    for names in (
        {"dimensions": 8, "output_dimension": 8},
        {"output_dtype": "int8", "embedding_type": "int8"},
        {"truncate": True, "truncation": True},
        {"normalized": True, "use_activation": True},
    ):
        refused = api.post("/v1/embeddings", {"model": "minilm", "input": "x", **names})
        assert code_of(refused) == (400, "invalid_request")
        assert all(name in refused.json()["message"] for name in names)


def test_unknown_fields_are_ignored_and_null_is_the_default(api: Api) -> None:
    plain = embed(api, "A cat.")
    assert embed(api, "A cat.", user="someone", colour=[1], encoding_format=None, dimensions=None) == plain
    assert plain["space"] == api.ok("/similarity", {"pairs": [{"a": "x", "b": "y"}], "model": "minilm"})["space"]


def test_the_models_are_listed(api: Api) -> None:
    listed = api.get("/v1/models")["data"]
    assert [each["id"] for each in listed] == [each["name"] for each in listed]
    assert [each["id"] for each in listed] == [each["name"] for each in api.get("/models")["models"]]
    assert {each["owned_by"] for each in listed} == {"semblance"}
    assert api.get("/v1/models/minilm") == listed[-1]
    assert 1.6e9 < listed[0]["created"] <= time.time(), "seconds of Unix, in the past"  # an order, not a duration
    unknown = api.http.get("/v1/models/org/nosuch")
    assert code_of(unknown) == (404, "unknown_model")
    assert "minilm-graded" in unknown.json()["message"]


# "A man is playing a guitar." and "naïve café 🦜" in OpenAI's encoding cl100k_base
GUITAR, NAIVE = [32, 893, 374, 5737, 264, 17418, 13], [3458, 38672, 588, 53050, 11410, 99, 250]


def test_token_ids_of_openai_are_the_texts_that_they_encode(api: Api) -> None:
    texts = ["A man is playing a guitar.", "naïve café 🦜"]
    expected = vectors(api, texts)
    assert np.array_equal(vectors(api, [GUITAR, NAIVE]), expected)
    assert np.array_equal(vectors(api, [texts[0], NAIVE]), expected)
    assert embed(api, GUITAR) == embed(api, texts[0])
    assert np.array_equal(vectors(api, [NAIVE[:-1]]), vectors(api, ["naïve café "])), "a character that was cut"


@pytest.mark.parametrize(
    ("tokens", "code", "place"),
    [
        ([GUITAR, [32, 100_257]], "out_of_range", "/input/1: token 100257 is not among the 100,256"),
        ([GUITAR, [-1]], "out_of_range", "/input/1: "),
        ([GUITAR, []], "out_of_range", "/input/1: it must not be empty"),
        ([GUITAR, [1.5]], "invalid_value", "/input/1/0: "),
        ([GUITAR, [True]], "invalid_value", "/input/1/0: "),
        ([GUITAR, NAIVE[-1:]], "empty_text", "/input/1: "),
        ([GUITAR, [32, 188]], "ill_formed_text", "/input/1: "),
        ([[32] * 10_001], "out_of_range", "/input/0: it has more than 10000 entries"),
        ([[17418] * 9999, [83, 1609, 5963, 374, 2294, 0]], "text_too_long", "/input/0: "),
        ([[32]] * 4097, "out_of_range", "4,097 texts exceed the limit of 4,096"),
    ],
)
def test_token_ids_without_a_text_are_refused_with_their_place(api: Api, tokens: Any, code: str, place: str) -> None:
    refused = api.post("/v1/embeddings", {"model": "minilm", "input": tokens, "truncate": "NONE"})
    assert code_of(refused) == (400, code)
    assert place in refused.json()["message"]


async def test_token_ids_are_refused_without_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "PACKAGE", "no_such_package")
    openai.openai_tokens.cache_clear()
    with pytest.raises(InvalidRequest) as refused:
        await openai_decoder()
    [problem] = refused.value.problems
    assert (problem.pointer, problem.code) == ("/input", "token_arrays_not_supported")
    assert "check_embedding_ctx_length=False" in problem.detail
    assert "openai-tokens" in problem.detail
