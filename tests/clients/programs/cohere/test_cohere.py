"""Cohere's client, versions 1 and 2 of its API."""

from __future__ import annotations

import math
from typing import Any

import cohere
import pytest

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
    check_ranking,
)

BOTH = pytest.mark.parametrize("version", [cohere.Client, cohere.ClientV2], ids=["v1", "v2"])


@BOTH
def test_documents_are_ranked(version: Any) -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        answer = client.rerank(model=MODEL, query=QUERY, documents=documents, top_n=top_n)
        scores = [each.relevance_score for each in answer.results]
        assert scores == sorted(scores, reverse=True)
        assert 0 <= scores[-1] <= scores[0] <= 1
        assert answer.meta.billed_units.search_units == 1
        return [each.index for each in answer.results]

    client = version(KEY, base_url=URL)
    check_ranking(rank)


def test_objects_are_read_by_their_rank_fields() -> None:
    client = cohere.Client(KEY, base_url=URL)
    objects = [{"title": text, "year": "2026"} for text in DOCUMENTS]
    answer = client.rerank(
        model=MODEL, query=QUERY, documents=objects, rank_fields=["title"], return_documents=True, top_n=1
    )
    [best] = answer.results
    assert best.index == BEST
    assert best.document.text == f"title: {DOCUMENTS[BEST]}"
    texts = client.rerank(model=MODEL, query=QUERY, documents=[{"text": text} for text in DOCUMENTS])
    assert texts.results[0].index == BEST


def test_relevant_spans_count_code_points() -> None:
    answer = cohere.ClientV2(KEY, base_url=URL).rerank(
        model=MODEL,
        query=QUERY,
        documents=DOCUMENTS,
        relevant_spans={"mode": "enabled", "threshold": 0},
        request_options={"additional_body_parameters": {"explain": True}},
    )
    best = answer.results[0]
    shown = {DOCUMENTS[BEST][each.start : each.end] for each in best.relevant_spans}
    assert {"package", "🙂"} <= {part.strip(" .,:") for text in shown for part in (text, *text.split())}, shown
    total = math.fsum([best.rest, *(each.score for each in best.relevant_spans)])
    assert total == pytest.approx(best.raw_score, abs=1e-9)
    assert best.explanation["links"]


@BOTH
def test_refusals_raise_its_own_errors(version: Any) -> None:
    client = version(KEY, base_url=URL)
    with pytest.raises(cohere.BadRequestError) as empty:
        client.rerank(model=MODEL, query=QUERY, documents=[])
    assert "documents" in empty.value.body["message"]
    with pytest.raises(cohere.NotFoundError) as unknown:
        client.rerank(model=UNKNOWN_MODEL, query=QUERY, documents=DOCUMENTS)
    assert MODEL in unknown.value.body["message"]
    with pytest.raises(cohere.UnauthorizedError):
        version("wrong", base_url=URL).rerank(model=MODEL, query=QUERY, documents=DOCUMENTS)
    with pytest.raises(cohere.NotFoundError, match="without it"):
        version(KEY, base_url=f"{URL}/v1").rerank(model=MODEL, query=QUERY, documents=DOCUMENTS)


@BOTH
def test_a_busy_service_is_asked_again(version: Any) -> None:
    client = version(KEY, base_url=URL)
    made = call_while_busy(lambda texts: client.rerank(model=MODEL, query=QUERY, documents=texts))
    assert made.check_retried().results[0].index == BUSY_TEXTS - 1
