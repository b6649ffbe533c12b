"""Scores of many pairs, for measures without a faster method than pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings
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
