"""Embedders of Pydantic AI, by the providers of OpenAI and Cohere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cohere
import pytest
from pydantic_ai import Embedder
from pydantic_ai.embeddings.cohere import CohereEmbeddingModel, CohereEmbeddingSettings
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.providers.cohere import CohereProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.programs.task import (
    DOCUMENTS,
    KEY,
    LONG,
    MODEL,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    check_long_text,
    check_vectors,
)


def of_openai(model: str = MODEL, key: str = KEY) -> Embedder:
    return Embedder(OpenAIEmbeddingModel(model, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=key)))


def of_cohere(model: str = MODEL, key: str = KEY, **settings: Any) -> Embedder:
    provider = CohereProvider(cohere_client=cohere.AsyncClientV2(key, base_url=URL))
    return Embedder(CohereEmbeddingModel(model, provider=provider), settings=CohereEmbeddingSettings(**settings))


def embed(embedder: Embedder, texts: list[str]) -> list[list[float]]:
    return [list(each) for each in embedder.embed_documents_sync(texts).embeddings]


EACH = pytest.mark.parametrize("made", [of_openai, of_cohere])


@EACH
def test_vectors_are_those_of_the_service(made: Callable[..., Embedder]) -> None:
    check_vectors(lambda texts: embed(made(), texts))
    answer = made().embed_query_sync(QUERY)
    assert list(answer[QUERY]) == pytest.approx(embed(made(), [QUERY])[0], abs=1e-6)
    assert answer.usage.input_tokens > 5
    assert len(made().embed_query_sync(QUERY, settings={"dimensions": 8}).embeddings[0]) == 8


def test_long_texts_are_read_as_the_settings_say() -> None:
    check_long_text(lambda texts: embed(of_openai(), texts))
    check_long_text(lambda texts: embed(of_cohere(cohere_truncate="PASSAGES"), texts))
    check_long_text(lambda texts: embed(of_cohere(truncate=True), texts), truncated=True)
    with pytest.raises(ModelHTTPError, match="tokens exceed the 256"):  # without settings it asks for an error
        embed(of_cohere(), [LONG])


@EACH
def test_refused_texts_raise_its_own_error(made: Callable[..., Embedder]) -> None:
    for embedder, status, reason in ((made(key="wrong"), 401, "unknown key"), (made(UNKNOWN_MODEL), 404, MODEL)):
        with pytest.raises(ModelHTTPError, match=reason) as refused:
            embed(embedder, DOCUMENTS)
        assert refused.value.status_code == status
