"""Ollama's client."""

from __future__ import annotations

import ollama
import pytest

from tests.clients.programs.task import DOCUMENTS, KEY, MODEL, UNKNOWN_MODEL, URL, call_while_busy, check_vectors


def client(key: str = KEY) -> ollama.Client:
    return ollama.Client(host=URL, headers={"Authorization": f"Bearer {key}"})


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(lambda texts: client().embed(model=MODEL, input=texts).embeddings)


@pytest.mark.parametrize(
    ("key", "model", "texts", "status", "message"),
    [
        (KEY, MODEL, [], 422, "input"),
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
