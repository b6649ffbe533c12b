"""Ollama's client."""

from __future__ import annotations

import ollama
import pytest

from tests.clients.programs.task import DOCUMENTS, KEY, MODEL, UNKNOWN_MODEL, URL, call_while_busy, check_vectors


def client(key: str = KEY) -> ollama.Client:
    return ollama.Client(host=URL, headers={"Authorization": f"Bearer {key}"})


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(lambda texts: client().embed(model=MODEL, input=texts).embeddings)


def test_models_are_listed_and_shown() -> None:
    listed = {model.model: model for model in client().list().models}
    assert {f"{MODEL}:latest", "minilm:latest"} <= listed.keys()
    tagged = listed[f"{MODEL}:latest"]
    assert tagged.size is not None
    assert tagged.size > 1_000_000
    assert tagged.modified_at is not None
    for name in (MODEL, f"{MODEL}:latest"):
        shown = client().show(name)
        assert shown.capabilities == ["embedding"]
        assert shown.modelinfo is not None
        assert (shown.modelinfo["semblance.embedding_length"], shown.modelinfo["semblance.context_length"]) == (
            384,
            256,
        )


def test_earlier_and_tagged_calls_return_the_same_vector() -> None:
    text = DOCUMENTS[0]
    [expected] = client().embed(model=MODEL, input=text).embeddings
    earlier = client().embeddings(model=f"{MODEL}:latest", prompt=text, options={"num_ctx": 256}, keep_alive="5m")
    assert list(earlier.embedding) == list(expected)
    assert list(client().embed(model=f"{MODEL}:latest", input=[text]).embeddings[0]) == list(expected)


def test_calls_without_text_load_the_model() -> None:
    assert list(client().embed(model=MODEL, input=[]).embeddings) == []
    assert list(client().embed(model=MODEL).embeddings) == []
    assert list(client().embeddings(model=MODEL).embedding) == []


@pytest.mark.parametrize(
    ("key", "model", "texts", "status", "message"),
    [
        (KEY, MODEL, ["\x00"], 400, "input"),
        (KEY, UNKNOWN_MODEL, DOCUMENTS, 404, MODEL),
        ("wrong", MODEL, DOCUMENTS, 401, "key"),
    ],
)
def test_refusals_raise_its_own_error(key: str, model: str, texts: list[str], status: int, message: str) -> None:
    with pytest.raises(ollama.ResponseError) as refused:
        client(key).embed(model=model, input=texts)
    assert refused.value.status_code == status
    assert message in refused.value.error


def test_a_busy_service_raises_its_own_error() -> None:
    made = call_while_busy(lambda texts: client().embed(model=MODEL, input=texts))
    assert isinstance(made.result, ollama.ResponseError)
    assert made.result.status_code == 429
