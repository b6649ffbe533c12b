"""How a measure scores many texts that has no faster way than one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.embeddings import Doubles, TokenEmbeddings
from models.protocols import Similarity


def one_by_one(measure: Similarity, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
    """(len(candidates),) the scores of `query` with each candidate. In a measure: `score_many = one_by_one`."""
    return np.array([measure.score(query, candidate) for candidate in candidates], np.float64)
