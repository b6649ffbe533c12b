"""Token-by-token cosines and distances of two texts, and the best match of each token among many other texts'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from models.embeddings import Doubles, Floats, TokenEmbeddings
from models.text import Booleans

BLOCK_BYTES = 16 << 20  # of cosines, and of candidates' vectors beside them, that stand in memory at a time

Counted: TypeAlias = Callable[[TokenEmbeddings], Booleans]


def cosine_matrix(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) float64, C[i, j] = cos(a_i, b_j) over all tokens, special ones included; 0 where a vector is zero."""
    return _cosines(a.tokens(), b.tokens()).astype(np.float64)


def distance_matrix(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) float64, d[i, j] = |a_i - b_j| over all tokens, special ones included; exactly 0 between equal vectors."""
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to load, and most measures need no distance

    distances: Doubles = cdist(a.tokens().astype(np.float64), b.tokens().astype(np.float64))
    return distances


def all_tokens(embeddings: TokenEmbeddings) -> Booleans:
    """(n,) True: every token counts, the special ones included."""
    return np.ones(len(embeddings), np.bool_)


def best_match_means(
    query: TokenEmbeddings,
    candidates: Sequence[TokenEmbeddings],
    counted: Counted = all_tokens,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[Doubles, Doubles]:
    """Means of best matches between a text of n tokens and each of c candidates, of m_1 ... m_c tokens.

    The tokens of many candidates stand in one ragged matrix, so one product serves them all and no padding is needed.
    Candidates are taken a block at a time: neither a block's vectors nor its cosines with the query take more than
    `block_bytes`, unless a single candidate's do.

    Args:
        query: the text of n tokens.
        candidates: the texts that it is compared with.
        counted: (n,) which tokens of a text enter its mean; all take part in the matches.
        block_bytes: a multiple of four.

    Returns:
        forward: (c,) the mean of max_j C_ij, every query token i that counts with its best match in the candidate.
        backward: (c,) the mean of max_i C_ij, every candidate token j that counts with its best match in the query.
    """
    forward, backward = np.empty(len(candidates)), np.empty(len(candidates))
    rows = query.tokens()
    most = block_bytes // (rows.itemsize * max(rows.shape))  # tokens
    for block in _blocks([len(candidate.tokens()) for candidate in candidates], most):
        forward[block], backward[block] = _means(query, candidates[block], counted)
    return forward, backward


def _means(query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings], counted: Counted) -> tuple[Doubles, Doubles]:
    """`best_match_means` of one block; nothing of it stays in memory but the means."""
    cosines = _cosines(query.vectors, np.concatenate([candidate.vectors for candidate in candidates]))
    starts = np.concatenate(([0], np.cumsum([len(candidate) for candidate in candidates[:-1]], dtype=np.int64)))
    kept = np.concatenate([counted(candidate) for candidate in candidates])
    of_rows = np.maximum.reduceat(cosines, starts, axis=1)
    forward: Doubles = of_rows[counted(query)].mean(axis=0, dtype=np.float64)
    of_columns = np.add.reduceat(cosines.max(axis=0) * kept, starts, dtype=np.float64)
    return forward, of_columns / np.add.reduceat(kept, starts, dtype=np.int64)


def _blocks(lengths: Sequence[int], most: int) -> Iterator[slice]:
    """Neighbours of at most `most` tokens together; one that has more by itself is a block of its own."""
    start = held = 0
    for i, length in enumerate(lengths):
        if i > start and held + length > most:
            yield slice(start, i)
            start, held = i, 0
        held += length
    if lengths:
        yield slice(start, len(lengths))


def _cosines(x: Floats, y: Floats) -> Floats:
    # the product is divided, not the vectors: it is smaller by the number of dimensions; in place, for a block is large
    cosines: Floats = x @ y.T
    cosines /= _divisors(x)[:, None]
    cosines /= _divisors(y)
    return np.clip(cosines, -1.0, 1.0, out=cosines)  # rounding must not push a score out of its bounds


def _divisors(vectors: Floats) -> Floats:
    """(n,) the length of each vector; 1 for a zero vector, whose products are 0 already."""
    lengths: Floats = np.sqrt(np.vecdot(vectors, vectors))
    lengths[lengths == 0] = 1.0
    return lengths
