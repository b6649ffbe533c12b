"""Answers of /rerank, in the shapes that clients of several APIs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from semblance.models.measures.relevant_spans import RelevantSpans
from semblance.service.api.schemas.calibration import CalibrationField, Probability, calibration_out
from semblance.service.api.schemas.explain import ExplanationOut, word_links_out
from semblance.service.api.schemas.fields import Space
from semblance.service.api.schemas.other_apis.embeddings import TokenUsage
from semblance.service.api.schemas.other_apis.rerank import RerankOrTeiRequest, RerankRequest
from semblance.service.api.schemas.warnings import MAX_WARNINGS
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.rerank import RankedDocument, Reranking

MAX_PLACES = 20  # truncated documents that a warning names
LOWEST = float(np.finfo(np.float32).min)  # raw score of a document without text: TEI's clients need a number


class SpanOut(BaseModel):
    """A part of a document."""

    start: int = Field(description="First character, counted from 0 in Unicode code points.")
    end: int = Field(description="One past its last character.")
    score: float = Field(description="Its part of `raw_score`.")


class RerankedDocument(BaseModel):
    """The document."""

    text: str


class RerankResult(BaseModel):
    """A document by its position in the request."""

    index: int
    relevance_score: float = Field(
        description="`raw_score` in [0, 1]: its probability by `calibration`, or mapped by the bounds of the measure."
    )
    probability: Probability = None
    raw_score: float | None = Field(None, description="The measure itself; absent for a document without text.")
    document: RerankedDocument | None = Field(None, description="Absent if `return_documents` is false.")
    relevant_spans: list[SpanOut] | None = Field(None, description="Best first; absent if none was asked for or found.")
    rest: float | None = Field(None, description="`raw_score` less the scores of all spans.")
    explanation: ExplanationOut | None = None


class BilledUnits(BaseModel):
    """Cohere's unit of billing: one a request."""

    search_units: int = 1


class InputTokens(BaseModel):
    """Tokens of all texts, special tokens included."""

    input_tokens: int


class ApiVersion(BaseModel):
    """Version of Cohere's API."""

    version: Literal["1", "2"]


class RerankMeta(BaseModel):
    """Cost and warnings, as Cohere's API has them."""

    api_version: ApiVersion
    billed_units: BilledUnits
    tokens: InputTokens
    warnings: list[str] | None = Field(None, description="Absent if there are none; the first 100.")


class RerankResponse(BaseModel):
    """Results, best first, for clients of Cohere, Jina, vLLM and infinity."""

    id: str
    object: Literal["rerank"] = "rerank"
    model: str
    measure: str
    calibration: CalibrationField = None
    space: Space
    results: list[RerankResult]
    meta: RerankMeta
    usage: TokenUsage


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
) -> RerankResponse:
    """The answer for most clients."""
    measure = found.measure.name
    return RerankResponse(
        id=answer_id,
        model=found.encoder.name,
        measure=measure,
        calibration=calibration_out(found.calibration),
        space=found.encoder.space,
        results=[_result(each, found, None if body.return_documents is False else texts) for each in found.results],
        meta=RerankMeta(
            api_version=ApiVersion(version=version),
            billed_units=BilledUnits(),
            tokens=InputTokens(input_tokens=found.tokens),
            warnings=_warnings(found) or None,
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


def _result(each: RankedDocument, found: Reranking, texts: Sequence[InputText] | None) -> RerankResult:
    return RerankResult(
        index=each.index,
        relevance_score=each.relevance,
        probability=None if found.calibration is None or each.score is None else each.relevance,
        raw_score=each.score,
        document=RerankedDocument(text=texts[each.index].text) if texts else None,
        relevant_spans=_spans(each.spans),
        rest=each.spans and each.spans.rest,
        explanation=each.why and word_links_out(each.why, found.measure.name),
    )


def _spans(found: RelevantSpans | None) -> list[SpanOut] | None:
    if found is None or not found.spans:
        return None
    return [SpanOut(start=span.start, end=span.end, score=span.score) for span in found.spans]


def _warnings(found: Reranking) -> list[str]:
    shown = [f"{each.pointer}: {each.detail}" for each in found.warnings]
    if found.truncated:
        places = ", ".join(map(str, found.truncated[:MAX_PLACES])) + (
            " ..." if len(found.truncated) > MAX_PLACES else ""
        )
        shown.insert(0, f"truncated to the {found.encoder.max_tokens} tokens that the model reads: documents {places}")
    return shown[:MAX_WARNINGS]
