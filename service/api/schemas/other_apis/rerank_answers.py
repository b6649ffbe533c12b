"""Answers of /rerank, in the shapes that clients of several APIs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel
from semblance_client.vocabulary import other_apis as vocabulary
from semblance_client.vocabulary.other_apis import (
    ApiVersion,
    BilledUnits,
    InputTokens,
    RankedText,
    Ranking,
    RankingMeta,
    Span,
)
from semblance_client.vocabulary.responses import MAX_WARNINGS, TokenUsage

from semblance.models.measures.relevant_spans import RelevantSpans
from semblance.service.api.schemas.other_apis.rerank import RerankOrTeiRequest, RerankRequest
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.rerank import RankedDocument, Reranking

MAX_PLACES = 20  # truncated documents that a warning names
LOWEST = float(np.finfo(np.float32).min)  # raw score of a document without text: TEI's clients need a number


class VoyageResult(BaseModel):
    """A result in the shape of Voyage's API."""

    index: int
    relevance_score: float
    document: str | None = None


class VoyageResponse(BaseModel):
    """Results in the shape of Voyage's API."""

    object: Literal["list"] = "list"
    data: list[VoyageResult]
    model: str
    usage: TokenUsage


class TeiRank(BaseModel):
    """A result in the shape of TEI."""

    index: int
    score: float
    text: str | None = None


def rerank_response(
    found: Reranking, body: RerankRequest, texts: Sequence[InputText], version: Literal["1", "2"], answer_id: str
) -> Ranking:
    """The answer for most clients."""
    measure = found.measure.name
    return Ranking(
        id=answer_id,
        model=found.encoder.name,
        measure=measure,
        calibration=found.calibration and found.calibration.summary,
        space=found.encoder.space,
        results=[_result(each, found, None if body.return_documents is False else texts) for each in found.results],
        meta=RankingMeta(
            api_version=ApiVersion(version=version),
            billed_units=BilledUnits(),
            tokens=InputTokens(input_tokens=found.tokens),
            warnings=_warnings(found),
        ),
        usage=TokenUsage(prompt_tokens=found.tokens, total_tokens=found.tokens),
    )


def voyage_response(found: Reranking, body: RerankRequest, texts: Sequence[InputText]) -> VoyageResponse:
    """The answer for clients of Voyage."""
    return VoyageResponse(
        data=[
            VoyageResult(
                index=each.index,
                relevance_score=each.relevance,
                document=texts[each.index].text if body.return_documents else None,
            )
            for each in found.results
        ],
        model=found.encoder.name,
        usage=TokenUsage(prompt_tokens=found.tokens, total_tokens=found.tokens),
    )


def tei_ranks(found: Reranking, body: RerankOrTeiRequest, texts: Sequence[InputText]) -> list[TeiRank]:
    """The answer for clients of TEI."""
    return [
        TeiRank(
            index=each.index,
            score=(LOWEST if each.score is None else each.score) if body.raw_scores else each.relevance,
            text=texts[each.index].text if body.return_text else None,
        )
        for each in found.results
    ]


def _result(each: RankedDocument, found: Reranking, texts: Sequence[InputText] | None) -> vocabulary.RankedDocument:
    return vocabulary.RankedDocument(
        index=each.index,
        relevance_score=each.relevance,
        probability=None if found.calibration is None or each.score is None else each.relevance,
        raw_score=each.score,
        document=RankedText(text=texts[each.index].text) if texts else None,
        relevant_spans=_spans(each.spans),
        rest=each.spans and each.spans.rest,
        explanation=each.explanation,
    )


def _spans(found: RelevantSpans | None) -> list[Span] | None:
    if found is None or not found.spans:
        return None
    return [Span(start=span.start, end=span.end, score=span.score) for span in found.spans]


def _warnings(found: Reranking) -> list[str]:
    shown = [f"{each.pointer}: {each.detail}" for each in found.warnings]
    if found.truncated:
        places = ", ".join(map(str, found.truncated[:MAX_PLACES])) + (
            " ..." if len(found.truncated) > MAX_PLACES else ""
        )
        shown.insert(0, f"truncated to the {found.encoder.max_tokens} tokens that the model reads: documents {places}")
    return shown[:MAX_WARNINGS]
