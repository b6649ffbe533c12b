"""Blank texts in a batch: routes of other APIs embed them, as those do, and our own reject them."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.service.settings import Settings
from tests.integration.conftest import Api

CAT = "A cat sleeps."
BLANKS = [" ", "\n\t ", "\u200b", "\ufeff\u200d\u2060", "\u00ad", " " * 1000]


def embedded(api: Api, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    answer = api.ok("/v1/embeddings", {"model": "minilm", "input": texts})
    return np.array([part["embedding"] for part in answer["data"]])


@pytest.mark.parametrize("blank", BLANKS)
def test_blank_texts_of_a_batch_change_no_other_vector(api: Api, blank: str) -> None:
    answer = api.ok("/v1/embeddings", {"model": "minilm", "input": [CAT, blank, CAT, blank]})
    first, blank_, again, last = (part["embedding"] for part in answer["data"])
    assert first == again == api.ok("/v1/embeddings", {"model": "minilm", "input": CAT})["data"][0]["embedding"]
    assert blank_ == last != first
    assert np.linalg.norm(blank_) == pytest.approx(1, abs=1e-5)
    assert [(warning["code"], warning["pointer"]) for warning in answer["warnings"]] == [
        ("empty_text", "/input/1"),
        ("empty_text", "/input/3"),
    ]
    refused = api.post("/similarity", {"pairs": [{"a": CAT, "b": blank}]})  # though the vector is in the cache
    assert (refused.status_code, refused.json()["code"]) == (422, "empty_text")


def test_every_api_has_the_same_vector_of_a_blank_text(api: Api) -> None:
    expected = embedded(api, BLANKS)
    assert np.abs(expected - expected[0]).max() == 0
    others = {
        "/v1/embed": api.ok("/v1/embed", {"texts": BLANKS, "model": "minilm"})["embeddings"],
        "/v2/embed": api.ok("/v2/embed", {"texts": BLANKS, "model": "minilm"})["embeddings"]["float"],
        "/api/embed": api.ok("/api/embed", {"model": "minilm", "input": BLANKS})["embeddings"],
    }
    for path, vectors in others.items():
        assert np.abs(np.array(vectors) - expected).max() < 1e-6, path
    one = api.ok("/api/embeddings", {"model": "minilm", "prompt": " "})["embedding"]
    assert np.abs(np.array(one) - expected[0]).max() < 1e-6


def test_ollama_reads_an_empty_text_of_several_as_blank(api: Api) -> None:
    answer = api.ok("/api/embed", {"model": "minilm", "input": [CAT, "", " "], "dimensions": 5})
    _, empty, blank = answer["embeddings"]
    assert empty == blank
    assert len(empty) == 5
    assert api.ok("/api/embeddings", {"model": "minilm", "prompt": ""})["embedding"] == []


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/embeddings", "input"), ("/pooling", "input"), ("/v1/embed", "texts"), ("/v2/embed", "texts")],
)
def test_an_empty_text_of_a_batch_is_rejected(api: Api, path: str, field: str) -> None:
    refused = api.post(path, {"model": "minilm", field: [" ", CAT, ""]})
    assert (refused.status_code, refused.json()["code"]) == (400, "empty_text")
    assert refused.json()["message"].startswith(f"/{field}/2: ")


def test_cohere_names_blank_texts_in_its_warnings(api: Api) -> None:
    parts = [{"content": [{"type": "text", "text": text}]} for text in (CAT, " ")]
    answer = api.ok("/v2/embed", {"model": "minilm", "inputs": parts})
    assert answer["embeddings"]["float"][1] == pytest.approx(embedded(api, [" "])[0].tolist(), abs=1e-6)
    assert [warning.partition(":")[0] for warning in answer["meta"]["warnings"]] == ["/inputs/1"]


def test_a_blank_text_has_the_vectors_of_its_special_tokens(api: Api) -> None:
    answer = api.ok("/pooling", {"model": "minilm", "input": [" "]})
    assert answer["data"][0]["shape"] == [2, 384]
    tokens = np.array(answer["data"][0]["data"])
    mean = tokens.mean(axis=0)
    assert mean / np.linalg.norm(mean) == pytest.approx(embedded(api, [" "])[0], abs=1e-5)
    assert answer["usage"]["prompt_tokens"] == 2
    [tokens_of_text] = api.ok("/tokenize", {"inputs": ["\u200b"]})
    assert [token["text"] for token in tokens_of_text] == ["[CLS]", "[SEP]"]


def test_a_blank_text_may_have_no_more_characters_than_others(api: Api) -> None:
    most = Settings().max_text_chars
    assert api.post("/v1/embeddings", {"model": "minilm", "input": [" " * most]}).status_code == 200
    refused = api.post("/v1/embeddings", {"model": "minilm", "input": [" " * (most + 1)]})
    assert (refused.status_code, refused.json()["code"]) == (400, "text_too_long")
