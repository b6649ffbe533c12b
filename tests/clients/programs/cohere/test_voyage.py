"""Voyage's client."""

from __future__ import annotations

from typing import Any

import pytest
import voyageai

from tests.clients.programs.task import (
    ATTEMPTS,
    BEST,
    BUSY_TEXTS,
    DOCUMENTS,
    KEY,
    MODEL,
    QUERY,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_ranking,
    check_vectors,
)


def client(key: str = KEY, retries: int = 0) -> voyageai.Client:
    return voyageai.Client(api_key=key, base_url=f"{URL}/v1", max_retries=retries)


def test_documents_are_ranked() -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        return [each.index for each in client().rerank(QUERY, documents, MODEL, top_k=top_n).results]

    check_ranking(rank)
    whole = client().rerank(QUERY, DOCUMENTS, MODEL)
    assert whole.results[0].document == DOCUMENTS[BEST]
    assert len(whole.results) == 3
    assert whole.total_tokens > 20


def test_vectors_are_those_of_the_service() -> None:
    check_vectors(lambda texts: client().embed(texts, model=MODEL, input_type="document").embeddings)


def test_vectors_have_the_type_that_is_asked_for() -> None:
    def embed(type_: str | None, **options: Any) -> Any:
        return client().embed(DOCUMENTS, model=MODEL, output_dtype=type_, **options).embeddings

    floats, signed, unsigned = (embed(type_) for type_ in (None, "binary", "ubinary"))
    assert [[code + 128 for code in row] for row in signed] == unsigned
    for row, codes in zip(floats, unsigned, strict=True):
        assert [codes[place // 8] >> (7 - place % 8) & 1 for place in range(384)] == [int(each > 0) for each in row]
    assert [[code + 128 for code in row] for row in embed("int8")] == embed("uint8")
    short = embed("int8", output_dimension=16)
    assert [len(row) for row in short] == [16] * 3
    assert max(abs(code) for row in short for code in row) > 20


def test_long_texts_are_truncated_unless_it_says_not() -> None:
    long = ["word " * 600]
    assert len(client().embed(long, model=MODEL).embeddings) == 1
    with pytest.raises(voyageai.error.InvalidRequestError, match="truncate"):
        client().embed(long, model=MODEL, truncation=False)
    with pytest.raises(voyageai.error.InvalidRequestError, match="truncate"):
        client().rerank(QUERY, long, MODEL, truncation=False)


def test_refusals_raise_its_own_errors() -> None:
    with pytest.raises(voyageai.error.InvalidRequestError, match="documents"):
        client().rerank(QUERY, [], MODEL)
    with pytest.raises(voyageai.error.APIError, match=MODEL):
        client().rerank(QUERY, DOCUMENTS, UNKNOWN_MODEL)
    with pytest.raises(voyageai.error.AuthenticationError):
        client("wrong").rerank(QUERY, DOCUMENTS, MODEL)


def test_a_busy_service_is_asked_again() -> None:
    made = call_while_busy(lambda texts: client(retries=ATTEMPTS).rerank(QUERY, texts, MODEL))
    assert made.check_retried().results[0].index == BUSY_TEXTS - 1
    once = call_while_busy(lambda texts: client().rerank(QUERY, texts, MODEL))
    assert isinstance(once.result, voyageai.error.RateLimitError)
