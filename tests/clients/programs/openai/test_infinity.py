"""Infinity's client, generated from the OpenAPI document of its server."""

from __future__ import annotations

from typing import Any

import pytest
from infinity_client import AuthenticatedClient
from infinity_client.api.default import embeddings, rerank
from infinity_client.errors import UnexpectedStatus
from infinity_client.models import OpenAIEmbeddingInputText, RerankInput

from tests.clients.programs.task import (
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


def client(key: str = KEY) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=URL, token=key, raise_on_unexpected_status=True, timeout=600)


def embed(texts: list[str], model: str = MODEL, key: str = KEY) -> list[list[float]]:
    body = OpenAIEmbeddingInputText(input_=texts, model=model)
    return [each.embedding for each in embeddings.sync(client=client(key), body=body).data]


def ranking(documents: list[str], top_n: int, model: str = MODEL, key: str = KEY) -> Any:
    body = RerankInput(query=QUERY, documents=documents, top_n=top_n, model=model)
    return rerank.sync(client=client(key), body=body)


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(embed)


def test_long_texts_are_read_to_their_end() -> None:
    check_long_text(embed)


def test_documents_are_ranked() -> None:
    check_ranking(lambda documents, top_n: [each.index for each in ranking(documents, top_n).results])
    scores = [each.relevance_score for each in ranking(DOCUMENTS, 3).results]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] < scores[0] < 1
    assert ranking(DOCUMENTS, 3).usage.total_tokens > 20


@pytest.mark.parametrize("call", [embed, lambda texts, **more: ranking(texts, 3, **more)], ids=["embed", "rerank"])
def test_refusals_raise_its_own_error(call: Any) -> None:
    for options, status, reason in (
        ({"key": "wrong"}, 401, b"unknown key"),
        ({"model": UNKNOWN_MODEL}, 404, b"served"),
    ):
        with pytest.raises(UnexpectedStatus) as refused:
            call(DOCUMENTS, **options)
        assert refused.value.status_code == status
        assert reason in refused.value.content
