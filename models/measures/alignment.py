"""Token-by-token cosines and distances of two texts, and best matches of the tokens of many texts at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles, Floats, Integers, TokenEmbeddings
from semblance.models.measures.chunks import portions
from semblance.models.measures.ragged import stacked_vectors
from semblance.models.text import Booleans

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


def pair_means(a: TokenEmbeddings, b: TokenEmbeddings, counted: Counted = all_tokens) -> tuple[float, float]:
    """What `best_match_means` makes of one pair, in half the time that it takes for so little."""
    cosines = _cosines(a.tokens(), b.tokens())
    forward, backward = cosines.max(axis=1)[counted(a)], cosines.max(axis=0)[counted(b)]
    return float(forward.mean(dtype=np.float64)), float(backward.mean(dtype=np.float64))


def best_match_means(
    left: Sequence[TokenEmbeddings],
    right: Sequence[TokenEmbeddings],
    counted: Counted = all_tokens,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[Doubles, Doubles]:
    """Means of best matches between each of c1 texts and each of c2, of any numbers of tokens.

    The tokens of many texts stand in one ragged matrix, so one product serves them all and no padding is needed. Texts
    are taken a block at a time: neither a block's vectors nor its cosines take more than `block_bytes`, unless a single
    pair's do.

    Args:
        left: c1 texts, such as one query.
        right: c2 texts, such as the documents that it is compared with.
        counted: (n,) which tokens of a text enter its mean; all take part in the matches.
        block_bytes: a multiple of four.

    Returns:
        forward: (c1, c2) the mean of max_j C_ij, every left token i that counts with its best match in the right text.
        backward: (c1, c2) the mean of max_i C_ij, every right token j that counts with its best match in the left text.
    """
    forward, backward = np.empty((len(left), len(right))), np.empty((len(left), len(right)))
    numbers = block_bytes // np.dtype(np.float32).itemsize
    left_tokens, right_tokens = ([len(text.tokens()) for text in side] for side in (left, right))
    for rows in portions(left_tokens, math.isqrt(numbers)):
        above = _Ragged.of(left[rows], counted)
        for columns in portions(right_tokens, numbers // max(above.vectors.shape)):
            forward[rows, columns], backward[rows, columns] = _means(above, _Ragged.of(right[columns], counted))
    return forward, backward


@dataclass(frozen=True, slots=True, eq=False)
class _Ragged:
    """The M tokens of c texts, one below the other.

    Attributes:
        vectors: (M, d) float32.
        starts: (c,) where each text begins.
        counted: (M,) which tokens count.
    """

    vectors: Floats
    starts: Integers
    counted: Booleans

    @classmethod
    def of(cls, texts: Sequence[TokenEmbeddings], counted: Counted) -> _Ragged:
        vectors = stacked_vectors(texts)
        starts = np.concatenate(([0], np.cumsum([len(text) for text in texts[:-1]], dtype=np.int64)))
        return cls(vectors, starts, np.concatenate([counted(text) for text in texts]))

    def means(self, best: Floats, axis: int) -> Doubles:
        """The mean of `best` over the tokens of each text that count; `axis` is the one that the tokens are along."""
        counts = np.add.reduceat(self.counted, self.starts, dtype=np.int64)
        shape = (-1, 1) if axis == 0 else (1, -1)
        sums = np.add.reduceat(best * self.counted.reshape(shape), self.starts, axis=axis, dtype=np.float64)
        means: Doubles = sums / counts.reshape(shape)
        return means


def _means(above: _Ragged, beside: _Ragged) -> tuple[Doubles, Doubles]:
    """`best_match_means` of one block; nothing of it stays in memory but the means."""
    cosines = _cosines(above.vectors, beside.vectors)
    of_rows = np.maximum.reduceat(cosines, beside.starts, axis=1)  # (M1, c2)
    of_columns = np.empty((len(above.starts), len(beside.vectors)), np.float32)
    ends = [*above.starts[1:], len(above.vectors)]
    for i, (start, end) in enumerate(zip(above.starts, ends, strict=True)):  # several times as fast as a reduceat
        cosines[start:end].max(axis=0, out=of_columns[i])
    return above.means(of_rows, axis=0), beside.means(of_columns, axis=1)


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
