"""Routes of Text Embeddings Inference, against sentence-transformers and its tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.integration.conftest import Api, served
from tests.support.small_model import BUILT_IN_FOLDER

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

TEXTS = ["A man is playing a guitar.", "数据库 — naïve 🙂 café", "x"]
LONG = "word " * 600 + "end"


@pytest.fixture(scope="module")
def untuned() -> Iterator[Api]:
    """A service with the oracle's model as the default."""
    with served(models="minilm") as (_, api):
        yield api


@pytest.fixture(scope="module")
def oracle() -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(BUILT_IN_FOLDER), device="cpu")


@pytest.mark.parametrize("path", ["/embed", "/"])
def test_vectors_equal_those_of_sentence_transformers(untuned: Api, oracle: SentenceTransformer, path: str) -> None:
    expected = oracle.encode(TEXTS, normalize_embeddings=True)
    assert np.abs(np.array(untuned.ok(path, {"inputs": TEXTS})) - expected).max() < 1e-5
    assert np.abs(np.array(untuned.ok(path, {"inputs": TEXTS[0]})) - expected[:1]).max() < 1e-5
    short = untuned.ok(path, {"inputs": TEXTS, "dimensions": 8})
    assert np.linalg.norm(short, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    cut = untuned.ok(path, {"inputs": TEXTS, "dimensions": 8, "normalize": False})
    assert np.abs(np.array(cut) - expected[:, :8]).max() < 1e-5, "minilm normalizes by itself"


def test_token_vectors_equal_those_of_sentence_transformers(untuned: Api, oracle: SentenceTransformer) -> None:
    expected = oracle.encode(TEXTS, output_value="token_embeddings")
    found = untuned.ok("/embed_all", {"inputs": TEXTS})
    for one, other in zip(found, expected, strict=True):
        assert np.abs(np.array(one) - other.cpu().numpy()[: len(one)]).max() < 1e-4
    pooled = untuned.ok("/pooling", {"model": "minilm", "input": TEXTS})
    assert [each["shape"] for each in pooled["data"]] == [[len(each), 384] for each in found]
    assert np.abs(np.array(pooled["data"][1]["data"]) - np.array(found[1])).max() < 1e-6


def test_tokens_equal_those_of_the_tokenizer(untuned: Api, oracle: SentenceTransformer) -> None:
    tokenizer: Any = oracle.tokenizer
    for text, row in zip(TEXTS, untuned.ok("/tokenize", {"inputs": TEXTS}), strict=True):
        encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        assert [each["id"] for each in row] == encoded["input_ids"]
        assert [each["special"] for each in row] == [bool(each) for each in encoded["special_tokens_mask"]]
        assert [row[0]["text"], row[-1]["text"]] == ["[CLS]", "[SEP]"]
        assert row[0]["start"] is row[0]["stop"] is None
        spans = [(each["start"], each["stop"]) for each in row[1:-1]]
        assert spans == encoded["offset_mapping"][1:-1]
        assert [each["text"] for each in row[1:-1]] == [text[start:stop] for start, stop in spans]
        own = untuned.ok("/tokenize", {"inputs": text, "add_special_tokens": False})
        assert own == [row[1:-1]]
        ids = [each["id"] for each in row]
        for skip in (True, False):
            decoded = untuned.ok("/decode", {"ids": ids, "skip_special_tokens": skip})
            assert decoded == [tokenizer.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)]
    assert untuned.ok("/decode", {"ids": [[101], [4937]], "skip_special_tokens": False}) == ["[CLS]", "cat"]


def test_all_tokens_of_a_long_text_are_returned(untuned: Api) -> None:
    text = "word " * 600
    [row] = untuned.ok("/tokenize", {"inputs": text})
    assert len(row) == 602
    assert row[-2]["stop"] == len(text.rstrip())


@pytest.mark.parametrize("special", [True, False])
def test_ids_of_the_model_are_the_texts_that_they_encode(untuned: Api, special: bool) -> None:
    texts = [
        "A man is playing a guitar, isn't he?",
        "naïve – café: Καλημέρα",
    ]  # without the unknown token, which has no text
    tokens = untuned.ok("/tokenize", {"inputs": texts, "add_special_tokens": special})
    ids = [[token["id"] for token in row] for row in tokens]
    for path in ("/embed", "/", "/embed_all"):
        expected = untuned.ok(path, {"inputs": texts})
        assert untuned.ok(path, {"inputs": ids}) == expected
        assert untuned.ok(path, {"inputs": [texts[0], *ids[1:]]}) == expected
        assert untuned.ok(path, {"inputs": ids[0]}) == expected[:1]
    [pooled] = untuned.ok("/pooling", {"model": "minilm", "input": ids[0], "task": "embed"})["data"]
    assert pooled["data"] == pytest.approx(untuned.ok("/embed", {"inputs": texts[0]})[0], abs=1e-6)


@pytest.mark.parametrize(
    ("path", "field"), [("/embed", "inputs"), ("/", "inputs"), ("/embed_all", "inputs"), ("/pooling", "input")]
)
def test_ids_outside_of_the_vocabulary_are_refused_with_their_place(untuned: Api, path: str, field: str) -> None:
    refused = untuned.post(path, {field: [[101], [4937, 30_522]]})
    assert refused.status_code == (400 if path == "/pooling" else 422)
    assert refused.json()["code"] == "out_of_range"
    assert f"/{field}/1: token 30522 is not in the vocabulary of 30,522" in refused.text
    empty = untuned.post(path, {field: [[4937], [101, 102]]})
    assert (empty.json()["code"], f"/{field}/1: " in empty.text) == ("empty_text", True), "special tokens only"


def test_a_blank_text_has_the_vector_of_the_reference(untuned: Api, oracle: SentenceTransformer) -> None:
    expected = oracle.encode([" ", "A cat."])
    assert np.abs(untuned.ok("/embed", {"inputs": [" ", "A cat."], "normalize": False}) - expected).max() < 1e-5


def test_similarity_has_cosines_in_the_form_of_tei(untuned: Api, oracle: SentenceTransformer) -> None:
    vectors = oracle.encode(TEXTS, normalize_embeddings=True)
    inputs = {"source_sentence": TEXTS[0], "sentences": TEXTS[1:]}
    expected = (vectors[1:] @ vectors[0]).tolist()
    assert untuned.ok("/similarity", {"inputs": inputs, "parameters": {}}) == pytest.approx(expected, abs=1e-5)
    assert untuned.ok("/similarity", {"inputs": inputs}) == pytest.approx(expected, abs=1e-5)
    assert untuned.ok("/", {"inputs": inputs, "parameters": {}}) == pytest.approx(expected, abs=1e-5)
    unlisted = untuned.post("/", {"inputs": {"source_sentence": "x", "sentences": ["y", 3]}})
    assert (unlisted.status_code, unlisted.json()["error"]) == (422, "/inputs/sentences/1: it must be a string")
    long = {"inputs": {"source_sentence": "x", "sentences": ["y", LONG]}, "parameters": {"truncate": False}}
    for path in ("/similarity", "/"):
        assert untuned.post(path, {"inputs": long["inputs"]}).headers["x-semblance-truncated"] == "1"
        refused = untuned.post(path, long)
        assert refused.status_code == 422
        assert refused.json()["error"].startswith("/inputs/sentences/1: ")


def test_truncation_is_the_default_and_told_in_a_header(api: Api) -> None:
    for path in ("/embed", "/embed_all", "/"):
        answer = api.post(path, {"inputs": ["short", LONG, LONG]})
        assert (answer.status_code, answer.headers["x-semblance-truncated"]) == (200, "2")
        assert "x-semblance-truncated" not in api.post(path, {"inputs": "short"}).headers
        refused = api.post(path, {"inputs": ["short", LONG], "truncate": False})
        assert (refused.status_code, refused.json()["code"]) == (422, "text_too_long")
    ends = [api.ok("/embed", {"inputs": LONG, "truncation_direction": end})[0] for end in ("Right", "Left", "left")]
    assert ends[1] == ends[2]
    assert ends[0] != pytest.approx(ends[1], abs=1e-3)


def test_info_and_health_describe_the_default_model(api: Api) -> None:
    info = api.http.get("/info").json()
    assert (info["model_id"], info["max_input_length"], info["auto_truncate"]) == ("minilm-graded", 256, True)
    assert info["model_type"] == {"embedding": {"pooling": "mean"}}
    assert info["max_client_batch_size"] == 4096
    health = api.http.get("/health")
    assert (health.status_code, health.content) == (200, b"")
