"""Rerankers and embeddings of LangChain, whose errors are those of the clients of Cohere, Ollama and OpenAI."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cohere
import ollama
import openai
import pytest
from langchain_cohere import CohereEmbeddings, CohereRerank
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_ollama import OllamaEmbeddings
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr, ValidationError

from tests.clients.programs.task import (
    BEST,
    BUSY_TEXTS,
    DOCUMENTS,
    KEY,
    MODEL,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_long_text,
    check_ranking,
    check_vectors,
)


def reranker(model: str = MODEL, key: str = KEY) -> CohereRerank:
    return CohereRerank(model=model, cohere_api_key=SecretStr(key), base_url=URL, top_n=2)


def embeddings(model: str = MODEL, key: str = KEY, **options: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(model=model, base_url=f"{URL}/v1", api_key=SecretStr(key), **options)


def texts_of_openai(model: str = MODEL, key: str = KEY) -> OpenAIEmbeddings:
    return embeddings(model, key, check_embedding_ctx_length=False)


def embeddings_of_cohere(model: str = MODEL, key: str = KEY) -> CohereEmbeddings:
    # a SecretStr would be sent as asterisks; the first of the retries waits four seconds
    return CohereEmbeddings(model=model, cohere_api_key=key, base_url=URL, max_retries=1)


def embeddings_of_ollama(model: str = MODEL, key: str = KEY, **options: Any) -> OllamaEmbeddings:
    headers = {"Authorization": f"Bearer {key}"}
    return OllamaEmbeddings(model=model, base_url=URL, client_kwargs={"headers": headers}, **options)


EMBEDDINGS: list[Callable[..., Embeddings]] = [texts_of_openai, embeddings_of_cohere, embeddings_of_ollama]


def test_documents_are_ranked() -> None:
    check_ranking(lambda documents, top_n: [each["index"] for each in reranker().rerank(documents, QUERY, top_n=top_n)])
    found = reranker().compress_documents([Document(text) for text in DOCUMENTS], QUERY)
    assert found[0].page_content == DOCUMENTS[BEST]
    assert 0 < found[1].metadata["relevance_score"] < found[0].metadata["relevance_score"] < 1
    assert reranker().compress_documents([], QUERY) == []


def test_documents_may_be_objects() -> None:
    objects = [{"title": text, "note": "x"} for text in DOCUMENTS]
    assert reranker().rerank(objects, QUERY)[0]["index"] == BEST


def test_refused_rankings_raise_errors_of_cohere() -> None:
    with pytest.raises(cohere.UnauthorizedError):
        reranker(key="wrong").rerank(DOCUMENTS, QUERY)
    with pytest.raises(cohere.NotFoundError, match=MODEL):
        reranker(UNKNOWN_MODEL).rerank(DOCUMENTS, QUERY)


@pytest.mark.parametrize("made", EMBEDDINGS)
def test_vectors_are_those_of_the_service(made: Callable[..., Embeddings]) -> None:
    check_vectors(made().embed_documents)
    assert made().embed_query(QUERY) == pytest.approx(made().embed_documents([QUERY])[0], abs=1e-6)


@pytest.mark.parametrize("made", EMBEDDINGS)
def test_long_texts_are_truncated_for_cohere_and_ollama(made: Callable[..., Embeddings]) -> None:
    check_long_text(made().embed_documents, truncated=made is not texts_of_openai)


@pytest.mark.parametrize(
    ("made", "key", "model"),
    [
        (texts_of_openai, openai.AuthenticationError, openai.NotFoundError),
        (embeddings_of_cohere, cohere.UnauthorizedError, cohere.NotFoundError),
        (embeddings_of_ollama, ollama.ResponseError, ollama.ResponseError),
    ],
)
def test_refused_texts_raise_errors_of_their_clients(
    made: Callable[..., Embeddings], key: type[Exception], model: type[Exception]
) -> None:
    with pytest.raises(key, match="unknown key"):
        made(key="wrong").embed_documents(DOCUMENTS)
    with pytest.raises(model, match=MODEL):
        made(UNKNOWN_MODEL).embed_documents(DOCUMENTS)


def test_ollama_finds_its_model_in_the_list() -> None:
    found = embeddings_of_ollama(validate_model_on_init=True, dimensions=8).embed_query(QUERY)
    assert len(found) == 8
    with pytest.raises(ValidationError, match=f"{MODEL}:latest"):
        embeddings_of_ollama(UNKNOWN_MODEL, validate_model_on_init=True)


def test_token_ids_have_the_vectors_of_their_texts() -> None:
    check_vectors(embeddings().embed_documents)
    long = " ".join(DOCUMENTS * 20)
    [cut] = embeddings(embedding_ctx_length=100).embed_documents([long])
    assert math.hypot(*cut) == pytest.approx(1), "the mean of the chunks, normalized"


def test_a_busy_service_is_asked_again() -> None:
    ranked = call_while_busy(lambda texts: reranker().rerank(texts, QUERY, top_n=1))
    assert ranked.check_retried()[0]["index"] == BUSY_TEXTS - 1
    embedded = call_while_busy(texts_of_openai().embed_documents)
    assert len(embedded.check_retried()) == BUSY_TEXTS
