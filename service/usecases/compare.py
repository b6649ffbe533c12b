"""Score texts against each other, in pairs or as a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.responses import RequestWarning, Usage
from semblance_client.vocabulary.same import Verdict
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix, SimilarityRequest

from semblance.models.alignment.ragged import split_by_size
from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.nearest_passages import score_pair, score_passage_pairs
from semblance.models.protocols import Encoder
from semblance.service.ports.calibration import Calibrations, FittedCalibration
from semblance.service.ports.embedding import ServedModels
from semblance.service.ports.paraphrases import Classifiers
from semblance.service.turns import Offload, in_thread
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.explain.word_links import word_links
from semblance.service.usecases.paraphrases.verdicts import judge_of
from semblance.service.usecases.request_fields import RequestLimits, require_at_most
from semblance.service.usecases.text_embedder import BY_DEFAULT, InputText, TextEmbedder, Truncation

Pair: TypeAlias = tuple[TokenEmbeddings, TokenEmbeddings]

# Token products per chunk: some 30 pairs of 256 tokens, 0.2 s by all measures but the slowest. Between chunks the
# thread serves other requests, and a disconnect is noticed: a small request of a slow measure, such as exact transport
# over long texts, would otherwise hold a thread for minutes.
CHUNK_PRODUCTS = 2**21
VERDICT_PRODUCTS = 2**13  # that take as long as a verdict


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """A score of each pair; if requested, its explanation, and its probability by a calibration."""

    encoder: Encoder
    measure: str
    scores: Sequence[float]
    truncated: Sequence[bool]
    explanations: Sequence[Explanation] | None
    calibration: FittedCalibration | None
    probabilities: Sequence[float | None] | None
    tokens: int
    passages: int
    warnings: Sequence[RequestWarning]


Beside: TypeAlias = Literal["nothing", "probabilities", "explanations"]
"""Values beside scores: none, probabilities where the measure has a calibration, or both these and explanations."""


class _Scored(NamedTuple):
    """A pair: its score, its explanation if requested, and the verdict if it was needed."""

    score: float
    links: Explanation | None
    same: Verdict | None


class Compare:
    """Scores texts; both sides have the role of a query, so that symmetric measures stay so."""

    def __init__(
        self,
        models: ServedModels,
        texts: TextEmbedder,
        calibrations: Calibrations,
        classifiers: Classifiers,
        limits: RequestLimits,
    ) -> None:
        self._models = models
        self._texts = texts
        self._calibrations = calibrations
        self._classifiers = classifiers
        self._limits = limits
        self._offload = Offload()

    async def similarity(self, request: SimilarityRequest) -> Similarities | SimilarityMatrix:
        """Score the pairs of a request, or each left with each right text.

        Raises:
            UnknownModel, UnknownMeasure, NotExplainable, InvalidRequest: see the errors of models and service.
        """
        return await (self._similarities(request) if request.pairs else self._matrix(request))

    async def pairs(
        self,
        left: Sequence[InputText],
        right: Sequence[InputText],
        *,
        measure: str = DEFAULT_MEASURE,
        model: str | None = None,
        truncation: Truncation = BY_DEFAULT,
        beside: Beside = "nothing",
    ) -> ScoredPairs:
        """Score the i-th text on the left with the i-th on the right. Raises as `similarity`."""
        scorer = similarity(measure)
        explain = beside == "explanations"
        explainer = explainable(measure) if explain else None
        encoder = await self._models.get(model)
        calibration = self._calibrations.get((encoder.space, measure)) if beside != "nothing" else None
        judge = judge_of(self._classifiers, encoder) if explain or calibration else None
        want: Want = "tokens" if explain or judge else required_vectors(scorer)
        texts = await self._texts.embed(encoder, [*left, *right], "query", want, truncation)
        pairs = list(zip(texts.embeddings[: len(left)], texts.embeddings[len(left) :], strict=True))

        def compute(a: TokenEmbeddings, b: TokenEmbeddings) -> _Scored:
            score = score_pair(scorer, a, b)
            if explainer is None:
                return _Scored(score, None, judge and judge(a, b))
            links = word_links(explainer, measure, a, b, judge=judge)
            return _Scored(score, links, links.same)

        per_pair = VERDICT_PRODUCTS if judge else 0
        costs = [comparison_cost(a) * comparison_cost(b) + per_pair for a, b in pairs]
        kind = f"{measure}{' explained' if explain else ''}{' judged' if judge else ''}"
        computed = [
            scored
            for chunk in split_by_size(costs, CHUNK_PRODUCTS)
            for scored in await self._offload.run(kind, sum(costs[chunk]), partial(_each, compute, pairs[chunk]))
        ]
        truncated = zip(texts.truncated[: len(left)], texts.truncated[len(left) :], strict=True)
        return ScoredPairs(
            encoder=encoder,
            measure=measure,
            scores=[each.score for each in computed],
            truncated=[a or b for a, b in truncated],
            explanations=[each.links for each in computed if each.links] if explain else None,
            calibration=calibration,
            probabilities=[calibration.of_pair(each.score, each.same) for each in computed] if calibration else None,
            tokens=texts.tokens,
            passages=texts.passages,
            warnings=texts.warnings,
        )

    async def _similarities(self, request: SimilarityRequest) -> Similarities:
        pairs = request.pairs or []
        require_at_most("/pairs", len(pairs), self._limits.max_texts, "pairs")
        if request.explain:
            require_at_most("/pairs", len(pairs), self._limits.max_explained, "explanations")
        scored = await self.pairs(
            [InputText(pair.a, f"/pairs/{i}/a") for i, pair in enumerate(pairs)],
            [InputText(pair.b, f"/pairs/{i}/b") for i, pair in enumerate(pairs)],
            measure=request.measure,
            model=request.model,
            truncation=Truncation(request.truncate),
            beside="explanations" if request.explain else "probabilities",
        )
        return Similarities(
            model=scored.encoder.name,
            space=scored.encoder.space,
            measure=request.measure,
            scores=scored.scores,
            probabilities=scored.probabilities,
            calibration=scored.calibration and scored.calibration.summary,
            truncated=scored.truncated,
            explanations=scored.explanations,
            warnings=scored.warnings,
            usage=Usage(tokens=scored.tokens, passages=scored.passages),
        )

    async def _matrix(self, request: SimilarityRequest) -> SimilarityMatrix:
        left, right = request.left or [], request.right or []
        for pointer, side in (("/left", left), ("/right", right)):
            require_at_most(pointer, len(side), self._limits.max_texts, "texts")
        require_at_most("/right", len(left) * len(right), self._limits.max_scores, "scores")
        measure = similarity(request.measure)
        encoder = await self._models.get(request.model)
        inputs = [InputText(text, f"/left/{i}") for i, text in enumerate(left)]
        inputs += [InputText(text, f"/right/{i}") for i, text in enumerate(right)]
        texts = await self._texts.embed(
            encoder, inputs, "query", required_vectors(measure), Truncation(request.truncate)
        )
        rows, columns = texts.embeddings[: len(left)], texts.embeddings[len(left) :]

        scores = np.empty((len(rows), len(columns)))
        for tile in _tiles(rows, columns):
            scores[tile] = await in_thread(score_passage_pairs, measure, rows[tile[0]], columns[tile[1]])
        calibration = self._calibrations.get((encoder.space, request.measure))
        return await self._offload.run(
            "matrix",
            scores.size,
            lambda: SimilarityMatrix(
                model=encoder.name,
                space=encoder.space,
                measure=request.measure,
                scores=scores.tolist(),
                probabilities=calibration and calibration.probability(scores).tolist(),
                calibration=calibration and calibration.summary,
                truncated=list(texts.truncated),
                warnings=texts.warnings,
                usage=Usage(tokens=texts.tokens, passages=texts.passages),
            ),
        )


def _tiles(rows: Sequence[TokenEmbeddings], columns: Sequence[TokenEmbeddings]) -> Iterator[tuple[slice, slice]]:
    """Split a matrix into rectangles of bounded cost."""
    longest = max((comparison_cost(row) for row in rows), default=1)
    for column_slice in split_by_size([longest * comparison_cost(column) for column in columns], CHUNK_PRODUCTS):
        width = sum(comparison_cost(column) for column in columns[column_slice])
        for row_slice in split_by_size([comparison_cost(row) * width for row in rows], CHUNK_PRODUCTS):
            yield row_slice, column_slice


def _each(compute: Callable[[TokenEmbeddings, TokenEmbeddings], _Scored], pairs: Sequence[Pair]) -> list[_Scored]:
    return [compute(a, b) for a, b in pairs]


def comparison_cost(text: TokenEmbeddings) -> int:
    """Factor of a text in the cost of a comparison: its tokens; 1 for a pooled vector."""
    return max(1, len(text))
