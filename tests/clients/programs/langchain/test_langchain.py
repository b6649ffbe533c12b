"""Rerankers and embeddings of LangChain, whose errors are those of the clients of Cohere and OpenAI."""

from __future__ import annotations

import math
from typing import Any

import pytest
from langchain_cohere import CohereRerank
from langchain_core.documents import Document
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr

from tests.clients.programs.task import (
    BEST,
    BUSY_TEXTS,
    DOCUMENTS,
    KEY,
    MODEL,
    QUERY,
    URL,
    call_while_busy,
    check_ranking,
    check_vectors,
)


def reranker() -> CohereRerank:
    return CohereRerank(model=MODEL, cohere_api_key=SecretStr(KEY), base_url=URL, top_n=2)


def embeddings(**options: Any) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(model=MODEL, base_url=f"{URL}/v1", api_key=SecretStr(KEY), **options)


def test_documents_are_ranked() -> None:
    check_ranking(lambda documents, top_n: [each["index"] for each in reranker().rerank(documents, QUERY, top_n=top_n)])
    found = reranker().compress_documents([Document(text) for text in DOCUMENTS], QUERY)
    assert found[0].page_content == DOCUMENTS[BEST]
    assert 0 < found[1].metadata["relevance_score"] < found[0].metadata["relevance_score"] < 1
    assert reranker().compress_documents([], QUERY) == []


def test_documents_may_be_objects() -> None:
    objects = [{"title": text, "note": "x"} for text in DOCUMENTS]
    assert reranker().rerank(objects, QUERY)[0]["index"] == BEST


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(embeddings(check_embedding_ctx_length=False).embed_documents)


def test_token_ids_have_the_vectors_of_their_texts() -> None:
    check_vectors(embeddings().embed_documents)
    long = " ".join(DOCUMENTS * 20)
    [cut] = embeddings(embedding_ctx_length=100).embed_documents([long])
    assert math.hypot(*cut) == pytest.approx(1), "the mean of the chunks, normalized"


def test_a_busy_service_is_asked_again() -> None:
    ranked = call_while_busy(lambda texts: reranker().rerank(texts, QUERY, top_n=1))
    assert ranked.check_retried()[0]["index"] == BUSY_TEXTS - 1
    embedded = call_while_busy(embeddings(check_embedding_ctx_length=False).embed_documents)
    assert len(embedded.check_retried()) == BUSY_TEXTS
