"""Token-by-token cosines of one text with many others, and the best match of each token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.embeddings import Doubles, Floats, TokenEmbeddings


def cosine_matrix(a: TokenEmbeddings, b: TokenEmbeddings) -> Floats:
    """(n, m) float32, C[i, j] = cos(a_i, b_j) over all tokens, special ones included; 0 where a vector is zero."""
    return _cosines(_tokens(a), _tokens(b))


def best_match_means(query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> tuple[Doubles, Doubles]:
    """Means of best matches between a text of n tokens and each of c candidates, of m_1 ... m_c tokens.

    All candidates' tokens stand in one ragged matrix, so one product serves them all and no padding is needed.

    Returns:
        forward: (c,) (1/n) sum_i max_j C_ij, every query token with its best match in the candidate.
        backward: (c,) (1/m) sum_j max_i C_ij, every candidate token with its best match in the query.
    """
    if not candidates:
        return np.zeros(0), np.zeros(0)
    lengths = np.array([len(_tokens(candidate)) for candidate in candidates])
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    stacked = np.concatenate([candidate.vectors for candidate in candidates])
    cosines = _cosines(_tokens(query), stacked)
    forward: Doubles = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0, dtype=np.float64)
    backward: Doubles = np.add.reduceat(cosines.max(axis=0), starts, dtype=np.float64) / lengths
    return forward, backward


def _cosines(x: Floats, y: Floats) -> Floats:
    # the product is divided, not the vectors: it is smaller by the number of dimensions
    lengths = np.outer(_lengths(x), _lengths(y))
    cosines: Floats = np.divide(x @ y.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.clip(cosines, -1.0, 1.0, out=cosines)  # rounding must not push a score out of its bounds


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def _tokens(embeddings: TokenEmbeddings) -> Floats:
    if len(embeddings) == 0:
        raise ValueError("this measure compares token vectors, but only the pooled vector was kept")
    return embeddings.vectors
