"""Score texts against each other, in pairs or as a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.measures.chunks import split_by_size
from semblance.models.measures.pairwise import score_all_pairs
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.offload import Offload
from semblance.service.ports.calibration import Calibration, Calibrations
from semblance.service.ports.embedding import ServedModels
from semblance.service.request_warnings import RequestWarning
from semblance.service.turns import in_thread
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings
from semblance.service.usecases.explain.word_links import WordLinks, word_links

Pair: TypeAlias = tuple[TokenEmbeddings, TokenEmbeddings]

# Token products per chunk: some 30 pairs of 256 tokens, 0.2 s by all measures but the slowest. Between chunks the
# thread serves other requests, and a disconnect is noticed: a small request of a slow measure, such as exact transport
# over long texts, would otherwise hold a thread for minutes.
CHUNK_PRODUCTS = 2**21


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Measure, model and truncation of a comparison."""

    measure: str
    model: str | None
    truncate: Truncate


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """A score and, if requested, an explanation of each pair."""

    encoder: Encoder
    scores: Sequence[float]
    truncated: Sequence[bool]
    explanations: Sequence[WordLinks] | None
    tokens: int
    warnings: Sequence[RequestWarning]
    calibration: Calibration | None


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """(left, right) scores, and which texts of each side were truncated."""

    encoder: Encoder
    scores: Sequence[Sequence[float]]
    truncated_left: Sequence[bool]
    truncated_right: Sequence[bool]
    tokens: int
    warnings: Sequence[RequestWarning]
    calibration: Calibration | None


class Compare:
    """Scores texts; both sides have the role of a query, so that symmetric measures stay so."""

    def __init__(self, models: ServedModels, texts: TextEmbedder, calibrations: Calibrations) -> None:
        self._models = models
        self._texts = texts
        self._calibrations = calibrations
        self._offload = Offload()

    async def pairs(
        self, left: Sequence[InputText], right: Sequence[InputText], options: CompareOptions, explain: bool
    ) -> ScoredPairs:
        """Score the i-th text on the left with the i-th on the right.

        Raises:
            UnknownModel, UnknownMeasure, NotExplainable, InvalidRequest: see the errors of models and service.
        """
        measure = similarity(options.measure)
        explainer = explainable(options.measure) if explain else None
        want: Want = "tokens" if explain else required_vectors(measure)
        encoder, texts = await self._embed([*left, *right], options, want)
        pairs = list(zip(texts.embeddings[: len(left)], texts.embeddings[len(left) :], strict=True))

        def compute(chunk: Sequence[Pair]) -> tuple[list[float], list[WordLinks]]:
            scores = [measure.score(a, b) for a, b in chunk]
            if explainer is None:
                return scores, []
            return scores, [word_links(explainer, a, b, options.truncate, options.truncate) for a, b in chunk]

        costs = [comparison_cost(a) * comparison_cost(b) for a, b in pairs]
        kind = f"{measure.name} explained" if explain else measure.name
        computed = [
            await self._offload.run(kind, sum(costs[chunk]), partial(compute, pairs[chunk]))
            for chunk in split_by_size(costs, CHUNK_PRODUCTS)
        ]
        scores = [score for chunk, _ in computed for score in chunk]
        explanations = [links for _, chunk in computed for links in chunk] if explainer else None
        truncated = zip(texts.truncated[: len(left)], texts.truncated[len(left) :], strict=True)
        return ScoredPairs(
            encoder=encoder,
            scores=scores,
            truncated=[a or b for a, b in truncated],
            explanations=explanations,
            tokens=texts.tokens,
            warnings=texts.warnings,
            calibration=self._calibrations.get((encoder.space, measure.name)),
        )

    async def matrix(
        self, left: Sequence[InputText], right: Sequence[InputText], options: CompareOptions
    ) -> ScoreMatrix:
        """Score every text on the left with every text on the right. Raises as `pairs`."""
        measure = similarity(options.measure)
        encoder, texts = await self._embed([*left, *right], options, required_vectors(measure))
        rows, columns = texts.embeddings[: len(left)], texts.embeddings[len(left) :]

        scores = np.empty((len(rows), len(columns)))
        for tile in _tiles(rows, columns):
            scores[tile] = await in_thread(score_all_pairs, measure, rows[tile[0]], columns[tile[1]])
        truncated = texts.truncated[: len(left)], texts.truncated[len(left) :]
        calibration = self._calibrations.get((encoder.space, measure.name))
        return ScoreMatrix(encoder, scores.tolist(), *truncated, texts.tokens, texts.warnings, calibration)

    async def _embed(
        self, texts: Sequence[InputText], options: CompareOptions, want: Want
    ) -> tuple[Encoder, TextEmbeddings]:
        encoder = await self._models.get(options.model)
        return encoder, await self._texts.embed(encoder, texts, "query", want, options.truncate)


def _tiles(rows: Sequence[TokenEmbeddings], columns: Sequence[TokenEmbeddings]) -> Iterator[tuple[slice, slice]]:
    """Split a matrix into rectangles of bounded cost."""
    longest = max((comparison_cost(row) for row in rows), default=1)
    for column_slice in split_by_size([longest * comparison_cost(column) for column in columns], CHUNK_PRODUCTS):
        width = sum(comparison_cost(column) for column in columns[column_slice])
        for row_slice in split_by_size([comparison_cost(row) * width for row in rows], CHUNK_PRODUCTS):
            yield row_slice, column_slice


def comparison_cost(text: TokenEmbeddings) -> int:
    """Factor of a text in the cost of a comparison: its tokens; 1 for a pooled vector."""
    return max(1, len(text))
