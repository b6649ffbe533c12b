"""POST /v1/embed, /v2/embed, /v1/tokenize; tests/clients/programs/cohere calls them by Cohere's client."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from semblance.service.api.other_apis.encodings import numbers_of
from tests.integration.conftest import Api, code_of, served
from tests.support.small_model import write_glove

TEXTS = ["A man is playing a guitar.", "naïve café 🙂", "数据库"]
LONG = "The parcel never came. " * 100 + "The museum opens at nine."
TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
BOTH = pytest.mark.parametrize("path", ["/v1/embed", "/v2/embed"])


def embed(api: Api, path: str = "/v2/embed", **fields: Any) -> Any:
    return api.ok(path, {"model": "minilm", "texts": TEXTS, "input_type": "search_document"} | fields)


def floats(api: Api, texts: list[str], **fields: Any) -> Any:
    data = api.ok("/v1/embeddings", {"model": "minilm", "input": texts, **fields})["data"]
    return np.array([each["embedding"] for each in data], np.float32)


@BOTH
def test_several_types_are_returned_at_once(api: Api, path: str) -> None:
    answer = embed(api, path, embedding_types=TYPES)
    expected = floats(api, TEXTS)
    assert list(answer["embeddings"]) == TYPES
    assert np.array_equal(np.array(answer["embeddings"]["float"], np.float32), expected)
    for type_ in ("int8", "uint8", "binary", "ubinary"):
        assert answer["embeddings"][type_] == numbers_of(expected, type_).tolist()
    decoded = [np.frombuffer(base64.b64decode(each), "<f4") for each in answer["embeddings"]["base64"]]
    assert np.array_equal(np.array(decoded), expected)
    assert answer["response_type"] == "embeddings_by_type"
    assert answer["texts"] == TEXTS


def test_only_the_first_version_leaves_out_the_type(api: Api) -> None:
    first, second = (embed(api, path) for path in ("/v1/embed", "/v2/embed"))
    assert second["embeddings"] == {"float": first["embeddings"]}
    assert [each["response_type"] for each in (first, second)] == ["embeddings_floats", "embeddings_by_type"]
    assert [each["meta"]["api_version"]["version"] for each in (first, second)] == ["1", "2"]


def test_the_tokens_are_billed(api: Api) -> None:
    usage = api.ok("/v1/embeddings", {"model": "minilm", "input": TEXTS})["usage"]
    answer = embed(api)
    assert answer["meta"]["billed_units"] == {"input_tokens": usage["total_tokens"]}
    assert answer["meta"]["warnings"] == ["/texts/2: " + each for each in warnings(api)]
    assert answer["id"] != embed(api)["id"]


def warnings(api: Api) -> list[str]:
    found = api.ok("/v1/embeddings", {"model": "minilm", "input": TEXTS})["warnings"]
    return [each["detail"] for each in found]


def test_inputs_are_texts_of_one_part_or_more(api: Api) -> None:
    inputs = [{"content": [{"type": "text", "text": text}]} for text in TEXTS]
    assert embed(api, texts=None, inputs=inputs)["embeddings"] == embed(api)["embeddings"]
    parts = [{"content": [{"type": "text", "text": "a cat"}, {"type": "text", "text": "a dog"}]}]
    answer = embed(api, texts=None, inputs=parts)
    assert answer["texts"] == ["a cat\na dog"]
    assert answer["embeddings"] == embed(api, texts=["a cat\na dog"])["embeddings"]


def test_fewer_dimensions_are_the_first_ones_normalized(api: Api) -> None:
    found = embed(api, output_dimension=20, embedding_types=["float", "ubinary"])["embeddings"]
    expected = floats(api, TEXTS, dimensions=20)
    assert np.array_equal(np.array(found["float"], np.float32), expected)
    assert found["ubinary"] == numbers_of(expected, "ubinary").tolist()
    assert [len(each) for each in found["ubinary"]] == [3, 3, 3]


def test_longer_texts_are_truncated_at_their_end(api: Api) -> None:
    whole = api.post("/v1/embed", {"model": "minilm", "texts": [LONG, "short"]})
    assert whole.headers["x-semblance-truncated"] == "1"
    for truncate in ("END", "START"):
        found = embed(api, "/v1/embed", texts=[LONG], truncate=truncate)["embeddings"]
        assert np.array_equal(np.array(found, np.float32), floats(api, [LONG], truncate=truncate))
    assert whole.json()["embeddings"][0] == embed(api, "/v1/embed", texts=[LONG], truncate="END")["embeddings"][0]
    refused = api.post("/v1/embed", {"model": "minilm", "texts": ["short", LONG], "truncate": "NONE"})
    assert code_of(refused) == (400, "text_too_long")
    assert "/texts/1" in refused.json()["message"]


def test_a_limit_of_tokens_cuts_either_end(api: Api) -> None:
    text = "one two three four five six seven"  # a token each, between two special ones
    cut = {"END": "one two three", "START": "five six seven"}
    for truncate, rest in cut.items():
        answer = api.post("/v2/embed", {"model": "minilm", "texts": [text], "max_tokens": 5, "truncate": truncate})
        assert answer.headers["x-semblance-truncated"] == "1"
        assert answer.json()["embeddings"] == embed(api, texts=[rest])["embeddings"]
        assert answer.json()["texts"] == [text]
        assert answer.json()["meta"]["billed_units"] == {"input_tokens": 5}
    for enough in (9, 256, 10_000):
        assert embed(api, texts=[text], max_tokens=enough)["embeddings"] == embed(api, texts=[text])["embeddings"]
    assert embed(api, texts=[text], max_tokens=1)["embeddings"] == embed(api, texts=["one"])["embeddings"]
    refused = api.post("/v2/embed", {"texts": ["one", text], "max_tokens": 5, "truncate": "NONE"})
    assert code_of(refused) == (400, "text_too_long")
    assert "/texts/1: its 9 tokens exceed the 5" in refused.json()["message"]


@BOTH
def test_more_texts_than_cohere_takes_are_one_request(api: Api, path: str) -> None:
    answer = embed(api, path, texts=[f"story {i}" for i in range(97)], embedding_types=["int8"])
    assert len(answer["embeddings"]["int8"]) == 97


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"texts": []}, "out_of_range", "texts"),
        ({"texts": ["x"] * 5000}, "out_of_range", "texts"),
        ({"texts": ["x", 7]}, "invalid_value", "texts"),
        ({"embedding_types": ["int4"]}, "invalid_value", "embedding_types"),
        ({"embedding_types": []}, "out_of_range", "embedding_types"),
        ({"images": ["data:image/png;base64,AA=="]}, "invalid_value", "images"),
        ({"input_type": "image"}, "invalid_value", "input_type"),
        ({"truncate": "MIDDLE"}, "invalid_value", "truncate"),
    ],
)
@BOTH
def test_invalid_requests_are_refused(api: Api, path: str, change: dict[str, Any], code: str, param: str) -> None:
    refused = api.post(path, {"texts": TEXTS} | change)
    assert code_of(refused) == (400, code)
    assert refused.json()["error"]["param"] == param
    assert f"/{param}" in refused.json()["message"]


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({}, "invalid_request", "give texts"),
        ({"texts": ["x"], "inputs": [{"content": [{"type": "text", "text": "x"}]}]}, "invalid_request", "either"),
        ({"inputs": []}, "out_of_range", "/inputs"),
        ({"inputs": [{"content": []}]}, "out_of_range", "/inputs/0/content"),
        ({"inputs": [{"content": [{"type": "image_url", "text": "x"}]}]}, "invalid_value", "/inputs/0/content/0/type"),
        ({"texts": ["x"], "output_dimension": 385}, "out_of_range", "/output_dimension"),
        ({"texts": ["x"], "output_dimension": 0}, "out_of_range", "/output_dimension"),
        ({"texts": ["x"], "max_tokens": 0}, "out_of_range", "/max_tokens"),
    ],
)
def test_invalid_requests_of_the_second_version_are_refused(
    api: Api, body: dict[str, Any], code: str, said: str
) -> None:
    refused = api.post("/v2/embed", body)
    assert code_of(refused) == (400, code)
    assert said in refused.json()["message"]


def test_unknown_models_and_doubled_versions_are_explained(api: Api) -> None:
    unknown = api.post("/v2/embed", {"model": "embed-v4.0", "texts": ["x"]})
    assert code_of(unknown) == (404, "unknown_model")
    assert "minilm-graded" in unknown.json()["message"]
    assert "without /v1" in api.post("/v1/v2/embed", {"texts": ["x"]}).json()["message"]


@pytest.mark.parametrize("text", [*TEXTS, LONG])
def test_tokens_are_those_of_tei_without_special_ones(api: Api, text: str) -> None:
    answer = api.ok("/v1/tokenize", {"model": "minilm-graded", "text": text})
    [expected] = api.ok("/tokenize", {"inputs": text, "add_special_tokens": False})
    assert answer["tokens"] == [each["id"] for each in expected]
    assert answer["token_strings"] == [each["text"] for each in expected]


def test_tokens_are_refused_by_the_field_at_fault(api: Api) -> None:
    assert code_of(api.post("/v1/tokenize", {"model": "embed-v4.0", "text": "x"})) == (404, "unknown_model")
    empty = api.post("/v1/tokenize", {"text": ""})
    assert code_of(empty) == (400, "empty_text")
    assert empty.json()["message"].startswith("/text: ")
    assert api.ok("/v1/tokenize", {"text": " "})["tokens"] == []


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service with a model whose vector of one word is zero."""
    folder: Path = tmp_path_factory.mktemp("static")
    vectors = np.array([[0, 0, 0], [3, -4, 0]], np.float32)
    file = write_glove(folder / "words.txt", ["nothing", "something"], vectors)
    with served(models=f"static={file},minilm") as (_, api):
        yield api


def test_a_zero_vector_has_all_types(static: Api) -> None:
    body = {"texts": ["nothing", "something"], "embedding_types": TYPES}
    found = static.ok("/v2/embed", body)["embeddings"]
    assert found["float"] == [[0, 0, 0], pytest.approx([0.6, -0.8, 0])]
    assert found["int8"] == [[0, 0, 0], [76, -102, 0]]
    assert found["uint8"] == [[128, 128, 128], [204, 26, 128]]
    assert (found["binary"], found["ubinary"]) == ([[-128], [0]], [[0], [128]])


def test_tokens_are_those_of_the_named_model(static: Api) -> None:
    text = "something zebra"
    own, named = (static.ok("/v1/tokenize", {"text": text} | model) for model in ({}, {"model": "minilm"}))
    assert own["token_strings"] == ["something"]
    assert named["token_strings"] == ["something", "zebra"]


def test_the_models_are_listed_for_its_client(http: httpx2.Client) -> None:
    answer = http.get("/v1/models").json()
    assert answer["models"] == answer["data"]
    assert {each["name"] for each in answer["models"]} >= {"minilm"}
    one = http.get("/v1/models/minilm").json()
    assert (one["name"], one["endpoints"], one["context_length"]) == ("minilm", ["embed", "rerank"], 256)


def test_a_blank_text_without_special_tokens_has_the_zero_vector(static: Api) -> None:
    answer = embed(static, "/v2/embed", model="static", texts=["something", " "], embedding_types=["float"])
    assert answer["embeddings"]["float"] == [pytest.approx([0.6, -0.8, 0]), [0, 0, 0]]
    assert static.ok("/embed_all", {"inputs": ["something", " "]})[1] == []
