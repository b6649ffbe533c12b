"""Token-by-token cosines and distances of two texts, and best matches of tokens, in batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from semblance.models.alignment.ragged import concatenated_vectors, split_by_size
from semblance.models.embeddings import Doubles, Floats, Integers, Phrases, TokenEmbeddings
from semblance.models.text import Booleans

BLOCK_BYTES = 16 << 20  # memory of one block of cosines, and of the candidates' vectors of that block

Mass: TypeAlias = Callable[[TokenEmbeddings], Booleans | Floats]
Matched: TypeAlias = Callable[[TokenEmbeddings], TokenEmbeddings]
"""All tokens of a text, as `whole_text`, or its own tokens with the weights by which they count."""


def cosine_matrix(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) float64, C[i, j] = cos(a_i, b_j) over all tokens; 0 where a vector is zero.

    Here and below, a glossary may override those of its phrases.
    """
    return pair_cosines(a, b).astype(np.float64)


def distance_matrix(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) float64, d[i, j] = |a_i - b_j| over all tokens; exactly 0 between equal vectors."""
    left, right = (each.token_vectors().astype(np.float64) for each in (a, b))
    if len(left) > len(right):
        return _distances(right, left).T
    return _distances(left, right)


def _distances(left: Doubles, right: Doubles) -> Doubles:
    """(n, m) distances of rows; by differences, which are exactly 0 of equal vectors."""
    distances = np.empty((len(left), len(right)))
    for row, vector in enumerate(left):
        distances[row] = np.linalg.norm(right - vector, axis=1)
    return distances


def all_tokens(embeddings: TokenEmbeddings) -> Booleans:
    """(n,) True: every token counts, special tokens included."""
    return np.ones(len(embeddings), np.bool_)


def own_tokens(embeddings: TokenEmbeddings) -> Booleans:
    """(n,) the tokens that are not special or of a prompt; all if there are no others.

    Raises:
        ValueError: the embeddings have neither a text nor marks of special tokens.
    """
    special = embeddings.special if embeddings.text is None else embeddings.text.special
    if special is None:
        raise ValueError("this measure must know which tokens are special, but these embeddings have no text")
    own: Booleans = ~special
    return own if own.any() else ~own


def whole_text(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """All tokens of a text, special ones included."""
    return embeddings


def token_weights(embeddings: TokenEmbeddings) -> Floats:
    """(n,) the weight of each token."""
    return embeddings.weights


def words_only(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """Embeddings with the vectors and weights of `own_tokens` only, and without their text.

    Raises:
        ValueError: as `own_tokens`; or the embeddings have no token vectors.
    """
    own = own_tokens(embeddings)
    phrases = embeddings.phrases and embeddings.phrases.at(own)
    first, count = int(own.argmax()), int(own.sum())
    places = slice(first, first + count) if own[first : first + count].all() else own  # a slice is not copied
    vectors, weights = embeddings.token_vectors()[places], embeddings.weights[places]
    return replace(embeddings, vectors=vectors, weights=weights, text=None, phrases=phrases, special=None)


def pair_means(cosines: Floats, left: Booleans | Floats, right: Booleans | Floats) -> tuple[float, float]:
    """`best_match_means` of one pair, in half the time.

    Args:
        cosines: (n, m) of its tokens.
        left: (n,) mass of the left ones.
        right: (m,) mass of the right ones.
    """
    forward, backward = cosines.max(axis=1) * left, cosines.max(axis=0) * right
    return _mean(forward, left), _mean(backward, right)


def _mean(weighted: Floats, mass: Booleans | Floats) -> float:
    """Mean by mass; both sums have the same order, so that rounding keeps it within its bounds."""
    return float(weighted.sum(dtype=np.float64) / mass.sum(dtype=np.float64))


def best_match_means(
    left: Sequence[TokenEmbeddings],
    right: Sequence[TokenEmbeddings],
    mass: Mass = all_tokens,
    matched: Matched = whole_text,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[Doubles, Doubles]:
    """Means of best matches between each of c1 texts and each of c2 texts.

    The tokens of many texts form one ragged matrix: one matrix product computes all cosines, without padding. Texts are
    processed in blocks: neither the vectors nor the cosines of a block exceed `block_bytes`, unless those of a single
    pair do.

    Args:
        left: c1 texts, such as one query.
        right: c2 texts, such as the candidate documents.
        mass: (n,) how much each matched token of a text counts in its mean.
        matched: the tokens of a text that take part.
        block_bytes: a multiple of four.

    Returns:
        forward: (c1, c2) the mean of max_j C_ij over the left tokens i, by their mass.
        backward: (c1, c2) the mean of max_i C_ij over the right tokens j, by their mass.
    """
    forward, backward = np.empty((len(left), len(right))), np.empty((len(left), len(right)))
    numbers = block_bytes // np.dtype(np.float32).itemsize
    left_tokens, right_tokens = ([len(text.token_vectors()) for text in side] for side in (left, right))
    for rows in split_by_size(left_tokens, math.isqrt(numbers)):
        above = _Ragged.of(left[rows], mass, matched)
        for columns in split_by_size(right_tokens, numbers // max(above.vectors.shape)):
            forward[rows, columns], backward[rows, columns] = _means(above, _Ragged.of(right[columns], mass, matched))
    return forward, backward


@dataclass(frozen=True, slots=True, eq=False)
class _Ragged:
    """The M matched tokens of c texts, concatenated.

    Attributes:
        vectors: (L, d) float32, of all tokens.
        kept: (L,) which of them are matched; None if all are.
        starts: (c,) first row of each text.
        mass: (M,) how much each token counts in the means.
        phrases: of a glossary in each text.
    """

    vectors: Floats
    kept: Booleans | None
    starts: Integers
    mass: Booleans | Floats
    phrases: Sequence[Phrases | None]

    @classmethod
    def of(cls, texts: Sequence[TokenEmbeddings], mass: Mass, matched: Matched) -> _Ragged:
        parts = [matched(text) for text in texts]
        kept = None if matched is whole_text else np.concatenate([own_tokens(text) for text in texts])
        starts = np.concatenate(([0], np.cumsum([len(part) for part in parts[:-1]], dtype=np.int64)))
        masses = np.concatenate([mass(part) for part in parts])
        return cls(concatenated_vectors(texts), kept, starts, masses, [part.phrases for part in parts])

    @property
    def rows(self) -> list[slice]:
        """The rows of each text."""
        return [slice(*each) for each in pairwise([*self.starts.tolist(), len(self.mass)])]

    def with_phrases(self) -> Iterator[tuple[slice, Phrases]]:
        """The rows of the texts that have phrases of a glossary."""
        for rows, phrases in zip(self.rows, self.phrases, strict=True):
            if phrases is not None:
                yield rows, phrases

    def means(self, best: Floats, axis: int) -> Doubles:
        """Mean of `best` over the tokens of each text, by their mass; tokens are along `axis`."""
        masses = np.add.reduceat(self.mass, self.starts, dtype=np.float64)
        shape = (-1, 1) if axis == 0 else (1, -1)
        sums = np.add.reduceat(best * self.mass.reshape(shape), self.starts, axis=axis, dtype=np.float64)
        means: Doubles = sums / masses.reshape(shape)
        return np.clip(means, -1.0, 1.0, out=means)  # the sums of masses are rounded in another order


def _means(above: _Ragged, beside: _Ragged) -> tuple[Doubles, Doubles]:
    """`best_match_means` of one block; frees all but the means."""
    cosines = _cosines(above.vectors, beside.vectors)
    if above.kept is not None:
        cosines = cosines[above.kept]
    if beside.kept is not None:
        cosines = cosines.T[beside.kept].T  # in rows of the taller side, as the product is
    for rows, left in above.with_phrases():
        for columns, right in beside.with_phrases():
            left.override(cosines[rows, columns], right)
    of_rows = np.maximum.reduceat(cosines, beside.starts, axis=1)  # (M1, c2)
    of_columns = np.empty((len(above.starts), len(beside.mass)), np.float32)
    for i, rows in enumerate(above.rows):  # several times faster than reduceat
        cosines[rows].max(axis=0, out=of_columns[i])
    return above.means(of_rows, axis=0), beside.means(of_columns, axis=1)


def pair_cosines(a: TokenEmbeddings, b: TokenEmbeddings) -> Floats:
    """`cosine_matrix` in float32."""
    cosines = _cosines(a.token_vectors(), b.token_vectors())
    if a.phrases and b.phrases:
        a.phrases.override(cosines, b.phrases)
    return cosines


def _cosines(x: Floats, y: Floats) -> Floats:
    # divide the product in place, not the vectors: it has fewer numbers, and a block is large
    cosines: Floats = x @ y.T if len(x) >= len(y) else (y @ x.T).T  # a tall product is faster than a wide one
    cosines /= _divisors(x)[:, None]
    cosines /= _divisors(y)
    return np.clip(cosines, -1.0, 1.0, out=cosines)  # rounding must not push a score out of its bounds


def _divisors(vectors: Floats) -> Floats:
    """(n,) the length of each vector; 1 for a zero vector, whose products are already 0."""
    lengths: Floats = np.sqrt(np.vecdot(vectors, vectors))
    lengths[lengths == 0] = 1.0
    return lengths
