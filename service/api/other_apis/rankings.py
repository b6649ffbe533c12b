"""Responses of /rerank, in the shapes that clients of several APIs read."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field, RootModel
from semblance_client.vocabulary import other_apis as vocabulary
from semblance_client.vocabulary.described import Described
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

from semblance.models.alignment.relevant_spans import RelevantSpans
from semblance.service.usecases.rerank import RankedDocument, Reranking
from semblance.service.usecases.text_embedder import InputText

UNIT = 100  # documents of a search unit of Cohere's
MAX_PLACES = 20  # truncated documents that a warning names
LOWEST = float(np.finfo(np.float32).min)  # raw score of a document without text: TEI's clients need a number


class VoyageResult(Described):
    """A result in the shape of Voyage's API."""

    index: int
    """Number of the document in the request, from 0."""
    relevance_score: float
    """Score in [0, 1]."""
    document: str | None = None
    """The text; null unless asked for."""


class VoyageResponse(Described):
    """Results in the shape of Voyage's API."""

    object: Literal["list"] = "list"
    """Kind of this object, as the other API names it."""
    data: list[VoyageResult]
    """The documents, best first."""
    model: str
    """Name of the model."""
    usage: TokenUsage
    """What the request cost."""


class TeiRank(Described):
    """A result in the shape of TEI."""

    index: int
    """Number of the text in the request, from 0."""
    score: float
    """Similarity by the measure."""
    text: str | None = None
    """The text; null unless asked for."""


class AnyRanking(Ranking):
    """Results for clients of most APIs, and for those of Voyage if the request may be theirs."""

    data: list[VoyageResult] | None = Field(
        None, description="The results as in Voyage's API; absent if the request has fields of another API."
    )


def ranking(found: Reranking, documents: int, texts: Sequence[InputText] | None, version: Literal["1", "2"]) -> Ranking:
    """The response for most clients, to a number of documents, with their texts unless None."""
    return Ranking(
        id=uuid.uuid4().hex,
        model=found.encoder.name,
        rerank_model=found.reranker and found.reranker.name,
        measure=found.measure.name,
        calibration=found.calibration and found.calibration.summary,
        space=found.encoder.space,
        results=[_result(result, texts) for result in found.results],
        kept=found.kept,
        meta=RankingMeta(
            api_version=ApiVersion(version=version),
            billed_units=BilledUnits(search_units=math.ceil(documents / UNIT)),
            tokens=InputTokens(input_tokens=found.tokens),
            warnings=_warnings(found),
        ),
        usage=TokenUsage(prompt_tokens=found.tokens, total_tokens=found.tokens),
    )


def any_ranking(
    found: Reranking,
    documents: int,
    texts: Sequence[InputText] | None,
    version: Literal["1", "2"],
    voyage_texts: Sequence[InputText] | None,
) -> AnyRanking:
    """The response for clients of any API, whose defaults for returned texts differ."""
    return AnyRanking(**dict(ranking(found, documents, texts, version)), data=_voyage_results(found, voyage_texts))


def voyage_response(found: Reranking, texts: Sequence[InputText] | None) -> VoyageResponse:
    """The response for clients of Voyage, with the texts unless None."""
    return VoyageResponse(
        data=_voyage_results(found, texts),
        model=(found.reranker or found.encoder).name,
        usage=TokenUsage(prompt_tokens=found.tokens, total_tokens=found.tokens),
    )


def tei_ranks(found: Reranking, texts: Sequence[InputText] | None, *, raw: bool) -> RootModel[list[TeiRank]]:
    """The response for clients of TEI; `raw` scores are not mapped to [0, 1]."""

    def raw_score(result: RankedDocument) -> float:
        own = result.rerank_score if found.reranker else result.score
        return LOWEST if own is None else own

    return RootModel(
        [
            TeiRank(
                index=result.index,
                score=raw_score(result) if raw else result.relevance,
                text=texts and texts[result.index].text,
            )
            for result in found.results
        ]
    )


def _voyage_results(found: Reranking, texts: Sequence[InputText] | None) -> list[VoyageResult]:
    return [
        VoyageResult(index=result.index, relevance_score=result.relevance, document=texts and texts[result.index].text)
        for result in found.results
    ]


def _result(result: RankedDocument, texts: Sequence[InputText] | None) -> vocabulary.RankedDocument:
    return vocabulary.RankedDocument(
        index=result.index,
        relevance_score=result.relevance,
        rerank_score=result.rerank_score,
        probability=result.probability,
        raw_score=result.score,
        document=RankedText(text=texts[result.index].text) if texts else None,
        relevant_spans=_spans(result.spans),
        rest=result.spans and result.spans.rest,
        sentences=result.sentences,
        explanation=result.explanation,
    )


def _spans(found: RelevantSpans | None) -> list[Span] | None:
    if found is None or not found.spans:
        return None
    return [Span(start=span.start, end=span.end, score=span.score) for span in found.spans]


def _warnings(found: Reranking) -> list[str]:
    shown = [f"{warning.pointer}: {warning.detail}" for warning in found.warnings]
    if found.truncated:
        places = ", ".join(map(str, found.truncated[:MAX_PLACES])) + (
            " ..." if len(found.truncated) > MAX_PLACES else ""
        )
        limit = (
            "fewer tokens"
            if found.limited
            else f"the {(found.reranker or found.encoder).max_tokens} tokens that the model reads"
        )
        shown.insert(0, f"truncated to {limit}: documents {places}")
    return shown[:MAX_WARNINGS]
