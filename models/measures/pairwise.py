"""How a measure scores many texts, or many with many, that has no faster way than one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.protocols import ManyToMany, Similarity


def one_by_one(measure: Similarity, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
    """(len(candidates),) the scores of `query` with each candidate. In a measure: `score_many = one_by_one`."""
    return np.array([measure.score(query, candidate) for candidate in candidates], np.float64)


def all_with_all(measure: Similarity, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
    """(len(left), len(right)) the scores of each left text with each right one, as fast as the measure can."""
    if isinstance(measure, ManyToMany):
        return measure.score_matrix(left, right)
    rows = [measure.score_many(text, right) for text in left]
    return np.array(rows, np.float64).reshape(len(left), len(right))
