"""Token vectors and pooled vector of one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.text import Booleans, TokenizedText, join_tokens

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Want: TypeAlias = Literal["pooled", "tokens"]
Precision: TypeAlias = Literal["float32", "bfloat16", "int8"]  # of a network, whose output is float32 in any case
# Of a measure: "own_tokens" are token vectors with marks of special ones, "words" are token vectors with their text.
Needs: TypeAlias = Literal["pooled", "tokens", "own_tokens", "words"]
Related: TypeAlias = Mapping[int, Sequence[Mapping[int, float]]]
"""By number of a phrase of the left text: similarities to phrases of the right one, by their numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """The phrases of a glossary in a text.

    Attributes:
        numbers: (n,) the number of the phrase that each token, or word, belongs to; -1 for none.
        related: of the glossary.
    """

    numbers: Integers
    related: Related

    def at(self, places: NDArray[Any]) -> Phrases:
        """Those of the tokens at some places."""
        return Phrases(self.numbers[places], self.related)

    def override(self, similarities: NDArray[np.floating], right: Phrases) -> None:
        """Set the similarities (n, m) to tokens of related phrases; all others stay as they are.

        >>> left, right = Phrases(np.array([0, -1]), {0: [{1: 1.0}]}), Phrases(np.array([-1, 1]), {})
        >>> similarities = np.array([[0.25, 0.5], [0.75, 0.125]])
        >>> left.override(similarities, right)
        >>> similarities
        array([[0.25 , 1.   ],
               [0.75 , 0.125]])
        """
        there = set(right.numbers.tolist())
        for number in {*self.numbers.tolist()} & self.related.keys():
            for similarity_of in self.related[number]:
                for other in there & similarity_of.keys():
                    similarities[np.ix_(self.numbers == number, right.numbers == other)] = similarity_of[other]


@dataclass(frozen=True, slots=True, eq=False)
class TokenEmbeddings:
    """An encoder's output for one text of n tokens, in d dimensions, without padding.

    Attributes:
        vectors: (n, d) float32, one vector a token, special tokens included; (0, d) if they were not requested.
        weights: (n,) float32 >= 0, the weight of each token in the mean.
        text: the tokens of the vectors; None where only vectors were stored (token codes).
        pooled_vector: (d,) float32, where it is not the weighted mean, or where the token vectors were not requested.
        mean_pooled: whether the pooled vector is the weighted mean of the token vectors.
        passages: those of a text that is read in passages, whose tokens lie in the whole text; empty for others.
        phrases: those of the glossary of a collection.
        special: (n,) whether each token is special; None with a text, which tells it, and where it is not known.
    """

    vectors: Floats
    weights: Floats
    text: TokenizedText | None = None
    pooled_vector: Floats | None = None
    mean_pooled: bool = True
    passages: tuple[TokenEmbeddings, ...] = ()
    phrases: Phrases | None = None
    special: Booleans | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    def pooled(self) -> Floats:
        """(d,) float32, the vector of the whole text; not necessarily of unit length.

        >>> TokenEmbeddings(np.array([[1, 2], [3, 0]], np.float32), np.ones(2, np.float32)).pooled()
        array([2., 1.], dtype=float32)
        """
        return self.mean() if self.pooled_vector is None else self.pooled_vector

    def mean(self) -> Floats:
        """(d,) float32, the weighted mean of the token vectors, whatever `pooled_vector` is.

        >>> tokens = np.array([[1, 2], [3, 0]], np.float32)
        >>> TokenEmbeddings(tokens, np.ones(2, np.float32), pooled_vector=np.ones(2, np.float32)).mean()
        array([2., 1.], dtype=float32)
        """
        weights = self.weights.astype(np.float64)
        mean: Floats = (weights @ self.vectors / max(weights.sum(), 1e-9)).astype(np.float32)
        return mean

    def token_vectors(self) -> Floats:
        """(n, d) float32, the token vectors.

        Raises:
            ValueError: only the pooled vector is present.
        """
        if len(self) == 0:
            raise ValueError("this measure compares token vectors, but only the pooled vector is present")
        return self.vectors

    def finalized(self, want: Want, normalize: bool) -> TokenEmbeddings:
        """Set the pooled vector, normalized if requested; drop token vectors unless requested.

        >>> tokens = TokenEmbeddings(np.array([[2, 3], [4, 5]], np.float32), np.ones(2, np.float32))
        >>> only_pooled = tokens.finalized("pooled", normalize=True)
        >>> only_pooled.pooled(), only_pooled.vectors.shape
        (array([0.6, 0.8], dtype=float32), (0, 2))
        """
        pooled = self.pooled()
        return replace(
            self,
            vectors=self.vectors if want == "tokens" else self.vectors[:0].copy(),
            pooled_vector=unit_rows(pooled).astype(np.float32) if normalize else pooled,
        )

    def weighted_vectors(self) -> Doubles:
        """(n, d) float64, each token vector times its weight.

        Raises:
            ValueError: only the pooled vector is present.

        >>> TokenEmbeddings(np.array([[1, 2], [3, 0]], np.float32), np.array([1, 2], np.float32)).weighted_vectors()
        array([[1., 2.],
               [6., 0.]])
        """
        weighted: Doubles = self.weights.astype(np.float64)[:, None] * self.token_vectors()
        return weighted

    def fits(self, n: int, dim: int, want: Want) -> bool:
        """Whether a text of n tokens can have these: by their shapes, and with finite numbers only.

        >>> one = TokenEmbeddings(np.ones((1, 2), np.float32), np.ones(1, np.float32))
        >>> one.fits(1, 2, "tokens"), one.fits(2, 2, "tokens")
        (True, False)
        >>> replace(one, vectors=one.vectors * np.inf).fits(1, 2, "tokens")
        False
        """
        pooled = self.pooled_vector
        if self.vectors.ndim != 2 or len(self.vectors) != (n if want == "tokens" else 0) or self.weights.shape != (n,):
            return False
        if pooled is None:  # and else, a layer may change the dimension after pooling
            return want == "tokens" and self.vectors.shape[1] == dim and _finite(self.vectors, self.weights)
        return pooled.shape == (dim,) and _finite(self.vectors, self.weights, pooled)

    def first(self, n: int) -> TokenEmbeddings:
        """The first n tokens, special ones included, with the pooled vector of all.

        >>> tokens = TokenEmbeddings(np.array([[2, 3], [4, 5]], np.float32), np.ones(2, np.float32))
        >>> tokens.first(1).vectors, tokens.first(2) is tokens
        (array([[2., 3.]], dtype=float32), True)
        """
        if len(self) <= n:
            return self
        text = self.text and self.text.at(np.arange(len(self)) < n)
        return replace(self, vectors=self.vectors[:n], weights=self.weights[:n], text=text, pooled_vector=self.pooled())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays and the text: the size of a cache entry."""
        pooled = 0 if self.pooled_vector is None else self.pooled_vector.nbytes
        text = 0 if self.text is None else self.text.nbytes
        return self.vectors.nbytes + self.weights.nbytes + pooled + text


def own_tokens(embeddings: TokenEmbeddings) -> int:
    """Number of tokens of a text, special and prompt tokens not included."""
    assert embeddings.text is not None, "a passage has its text"
    return int((~embeddings.text.special).sum())


def join_passages(passages: Sequence[TokenEmbeddings]) -> TokenEmbeddings:
    """Join passages to a long text: all their tokens, and the weighted mean of their vectors.

    With n_p own tokens and the pooled vector u_p of passage p, N the sum of n_p and z = sum_p n_p u_p / N, the pooled
    vector has the direction of z and the mean length of theirs, sum_p n_p |u_p| / N: 1 where they have unit length.

    Args:
        passages: with their texts, as tokens of the whole one; in reading order.
    """
    counts = np.array([own_tokens(passage) for passage in passages], np.float64)
    pooled = pooled_rows(passages).astype(np.float64)
    length = counts @ np.linalg.norm(pooled, axis=1) / counts.sum()
    return TokenEmbeddings(
        vectors=np.concatenate([passage.vectors for passage in passages]),
        weights=np.concatenate([passage.weights for passage in passages]),
        text=join_tokens([passage.text for passage in passages if passage.text is not None]),
        pooled_vector=(length * unit_rows(counts @ pooled)).astype(np.float32),
        mean_pooled=False,
        passages=tuple(passages),
    )


def pooled_rows(texts: Sequence[TokenEmbeddings]) -> Floats:
    """(len(texts), d) float32, the pooled vector of each text."""
    return np.stack([text.pooled() for text in texts])


def unit_rows(vectors: NDArray[np.number]) -> Doubles:
    """(n, d) -> (n, d) float64: each row divided by its length; a zero row stays zero.

    A row that is not finite keeps a NaN.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    rows: Doubles = np.asarray(vectors, np.float64)
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=-1, keepdims=True))
    unit: Doubles = rows / np.where(lengths == 0, 1, lengths)
    return unit


def _finite(*arrays: Floats) -> bool:
    return all(np.isfinite(array).all() for array in arrays)
