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
    THOUSAND,
    UNKNOWN_MODEL,
    URL,
    call_while_busy,
    check_ranking,
    check_vectors,
)

BOTH = pytest.mark.parametrize("version", [cohere.Client, cohere.ClientV2], ids=["v1", "v2"])


@BOTH
def test_documents_are_ranked(version: Any) -> None:
    def rank(documents: list[str], top_n: int) -> list[int]:
        answer = client.rerank(model=MODEL, query=QUERY, documents=documents, top_n=top_n)
        scores = [each.relevance_score for each in answer.results]
        assert scores == sorted(scores, reverse=True)
        assert 0 <= scores[-1] <= scores[0] <= 1
        assert answer.meta.billed_units.search_units == math.ceil(len(documents) / 100)
        return [each.index for each in answer.results]

    client = version(KEY, base_url=URL)
    check_ranking(rank)


@BOTH
def test_vectors_are_those_of_the_service(version: Any) -> None:
    def embed(texts: list[str]) -> Any:
        answer = client.embed(model=MODEL, texts=texts, input_type="search_document", embedding_types=["float"])
        assert len(answer.texts) == len(texts)
        return answer.embeddings.float_

    client = version(KEY, base_url=URL)
    check_vectors(embed)


@BOTH
def test_vectors_have_several_types(version: Any) -> None:
    client = version(KEY, base_url=URL)
    types = ["float", "int8", "uint8", "binary", "ubinary"]
    answer = client.embed(model=MODEL, texts=DOCUMENTS, input_type="search_query", embedding_types=types)
    found = answer.embeddings
    assert [len(getattr(found, name)[0]) for name in ("int8", "uint8", "binary", "ubinary")] == [384, 384, 48, 48]
    for i, floats in enumerate(found.float_):
        assert [each + 128 for each in found.int8[i]] == found.uint8[i]
        assert [each + 128 for each in found.binary[i]] == found.ubinary[i]
        signs = [found.ubinary[i][place // 8] >> (7 - place % 8) & 1 for place in range(384)]
        assert signs == [int(each > 0) for each in floats]
        scale = 6 / math.sqrt(384) / 127
        assert max(abs(code * scale - each) for code, each in zip(found.int8[i], floats, strict=True)) < scale
    assert answer.response_type == "embeddings_by_type"
    assert answer.meta.billed_units.input_tokens > 30


def test_the_first_version_returns_plain_floats() -> None:
    plain = cohere.Client(KEY, base_url=URL).embed(model=MODEL, texts=THOUSAND, input_type="search_document")
    typed = cohere.ClientV2(KEY, base_url=URL).embed(model=MODEL, texts=THOUSAND[-1:], input_type="search_document")
    assert plain.response_type == "embeddings_floats"
    assert len(plain.embeddings) == 1000
    assert math.dist(plain.embeddings[-1], typed.embeddings.float_[0]) < 1e-4


def test_inputs_may_be_cut_and_shortened() -> None:
    client = cohere.ClientV2(KEY, base_url=URL)
    inputs: Any = [{"content": [{"type": "text", "text": "one two three four"}]}]
    options: Any = {"model": MODEL, "input_type": "search_query", "output_dimension": 16}
    cut = client.embed(inputs=inputs, max_tokens=4, truncate="START", **options).embeddings.float_
    assert cut == client.embed(texts=["three four"], **options).embeddings.float_
    assert len(cut[0]) == 16


@BOTH
def test_vectors_are_refused_by_its_own_errors(version: Any) -> None:
    client = version(KEY, base_url=URL)
    with pytest.raises(cohere.BadRequestError) as unknown:
        client.embed(model=MODEL, texts=["x"], input_type="image")
    assert "/input_type" in unknown.value.body["message"]
    with pytest.raises(cohere.BadRequestError) as images:
        client.embed(model=MODEL, images=["data:image/png;base64,AA=="], input_type="search_query")
    assert "/images" in images.value.body["message"]
    with pytest.raises(cohere.NotFoundError):
        client.embed(model="embed-v4.0", texts=["x"], input_type="search_query")


@pytest.mark.parametrize("offline", [False, True])
def test_tokens_are_counted(offline: bool) -> None:
    found = cohere.Client(KEY, base_url=URL).tokenize(text=DOCUMENTS[0], model=MODEL, offline=offline)
    assert len(found.tokens) == len(found.token_strings)
    assert "".join(found.token_strings) == DOCUMENTS[0].replace(" ", "")


def test_models_are_listed() -> None:
    client = cohere.Client(KEY, base_url=URL)
    listed = client.models.list()
    assert MODEL in [each.name for each in listed.models]
    assert set(listed.models[0].endpoints) == {"embed", "rerank"}
    assert client.models.get(MODEL).name == MODEL


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
    with pytest.raises(cohere.NotFoundError, match="without /v1"):
        version(KEY, base_url=f"{URL}/v1").rerank(model=MODEL, query=QUERY, documents=DOCUMENTS)


@BOTH
def test_a_busy_service_is_asked_again(version: Any) -> None:
    client = version(KEY, base_url=URL)
    made = call_while_busy(lambda texts: client.rerank(model=MODEL, query=QUERY, documents=texts))
    assert made.check_retried().results[0].index == BUSY_TEXTS - 1
