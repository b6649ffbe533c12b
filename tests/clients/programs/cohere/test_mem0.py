"""Embedders and the reranker of Mem0, whose errors are those of the clients of OpenAI and Ollama."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ollama
import openai
import pytest
from mem0.configs.embeddings.base import BaseEmbedderConfig
from mem0.configs.rerankers.cohere import CohereRerankerConfig
from mem0.embeddings.ollama import OllamaEmbedding
from mem0.embeddings.openai import OpenAIEmbedding
from mem0.reranker.cohere_reranker import CohereReranker

from tests.clients.programs.task import (
    BEST,
    DOCUMENTS,
    KEY,
    MODEL,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    check_long_text,
    check_ranking,
    check_vectors,
)


def of_openai(model: str = MODEL, key: str = KEY, **options: Any) -> OpenAIEmbedding:
    return OpenAIEmbedding(BaseEmbedderConfig(model=model, api_key=key, openai_base_url=f"{URL}/v1", **options))


def of_ollama(model: str = MODEL, key: str = KEY) -> OllamaEmbedding:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLLAMA_API_KEY", key)  # Ollama's client reads the key there
        return OllamaEmbedding(BaseEmbedderConfig(model=model, ollama_base_url=URL))


def reranker(model: str = MODEL, key: str = KEY) -> CohereReranker:
    return CohereReranker(CohereRerankerConfig(model=model, api_key=key))


EACH = pytest.mark.parametrize("made", [of_openai, of_ollama])


@EACH
def test_vectors_are_those_of_the_service(made: Callable[..., Any]) -> None:
    check_vectors(made().embed_batch)
    assert made().embed(QUERY, "search") == pytest.approx(made().embed_batch([QUERY])[0], abs=1e-6)


@EACH
def test_long_texts_are_truncated_for_ollama(made: Callable[..., Any]) -> None:
    check_long_text(made().embed_batch, truncated=made is of_ollama)


def test_vectors_have_the_dimensions_of_the_store() -> None:
    assert len(of_openai(embedding_dims=8).embed(QUERY)) == 8


def test_refused_texts_raise_errors_of_their_clients() -> None:
    with pytest.raises(openai.AuthenticationError):
        of_openai(key="wrong").embed(QUERY)
    with pytest.raises(openai.NotFoundError, match=MODEL):
        of_openai(UNKNOWN_MODEL).embed(QUERY)
    with pytest.raises(ollama.ResponseError, match="unknown key"):
        of_ollama(key="wrong")
    with pytest.raises(ollama.ResponseError, match="404"):  # it pulls a model that is not listed
        of_ollama(UNKNOWN_MODEL)


def test_documents_are_ranked() -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        given = [{"memory": text, "place": i} for i, text in enumerate(documents)]
        return [each["place"] for each in reranker().rerank(QUERY, given, top_n)]

    check_ranking(rank)


def test_a_refused_ranking_keeps_the_order_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    given = [{"memory": text} for text in DOCUMENTS]
    with caplog.at_level(logging.WARNING):
        for refused, reason in ((reranker(key="wrong"), "unknown key"), (reranker(UNKNOWN_MODEL), MODEL)):
            caplog.clear()
            assert refused.rerank(QUERY, given) == [{**each, "rerank_score": 0.0} for each in given]
            assert reason in caplog.text
    assert reranker().rerank(QUERY, given)[0]["memory"] == DOCUMENTS[BEST]
