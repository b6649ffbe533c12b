"""Scores of many pairs, for measures without a faster method than pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings, pooled_rows
from semblance.models.protocols import ManyToMany, Similarity


def score_pairwise(measure: Similarity, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
    """(len(candidates),) scores, pair by pair. In a measure: `score_many = score_pairwise`."""
    return np.array([measure.score(query, candidate) for candidate in candidates], np.float64)


def score_all_pairs(measure: Similarity, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
    """(len(left), len(right)) scores of all pairs, by the fastest method of the measure."""
    if isinstance(measure, ManyToMany):
        return measure.score_matrix(left, right)
    rows = [measure.score_many(text, right) for text in left]
    return np.array(rows, np.float64).reshape(len(left), len(right))


class NegativeDistance:
    """Base of the measures that are minus the distance of pooled vectors, by a norm."""

    bounds: ClassVar[tuple[float, float]] = (-np.inf, 0.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "pooled"
    order: ClassVar[int]

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        return float(self.score_many(a, [b])[0])

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(c,) s of the query with each candidate."""
        pooled = pooled_rows([query, *candidates]).astype(np.float64)
        scores: Doubles = 0.0 - np.linalg.norm(pooled[1:] - pooled[0], ord=self.order, axis=1)
        return scores
