"""Token vectors of one text, and the vector of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.text import TokenizedText

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Want: TypeAlias = Literal["pooled", "tokens"]
Needs: TypeAlias = Literal["pooled", "tokens", "words"]  # of a measure; words are tokens that know their text


@dataclass(frozen=True, slots=True, eq=False)
class TokenEmbeddings:
    """What an encoder made of one text of n tokens, in d dimensions. No padding: n is the text's own length.

    Attributes:
        vectors: (n, d) float32, a vector a token, special ones included; (0, d) if only the pooled vector was wanted.
        weights: (n,) float32 >= 0, the share of each token in a weighted mean.
        text: the tokens that the vectors belong to; None where only vectors were kept (token codes).
        given: (d,) float32, the pooled vector where it is not the weighted mean, or where the tokens were not wanted.
        mean_pooled: whether the pooled vector is the weighted mean of the token vectors.
    """

    vectors: Floats
    weights: Floats
    text: TokenizedText | None = None
    given: Floats | None = None
    mean_pooled: bool = True

    def __len__(self) -> int:
        return len(self.vectors)

    def pooled(self) -> Floats:
        """(d,) float32, the vector of the whole text, of any length.

        >>> TokenEmbeddings(np.array([[1, 2], [3, 0]], np.float32), np.ones(2, np.float32)).pooled()
        array([2., 1.], dtype=float32)
        """
        return self.mean() if self.given is None else self.given

    def mean(self) -> Floats:
        """(d,) float32, the weighted mean of the token vectors, whatever the pooled vector is.

        >>> tokens = np.array([[1, 2], [3, 0]], np.float32)
        >>> TokenEmbeddings(tokens, np.ones(2, np.float32), given=np.ones(2, np.float32)).mean()
        array([2., 1.], dtype=float32)
        """
        weights = self.weights.astype(np.float64)
        mean: Floats = (weights @ self.vectors / max(weights.sum(), 1e-9)).astype(np.float32)
        return mean

    def tokens(self) -> Floats:
        """(n, d) float32, the token vectors, of a text that kept them.

        Raises:
            ValueError: only the pooled vector was kept.
        """
        if len(self) == 0:
            raise ValueError("this measure compares token vectors, but only the pooled vector was kept")
        return self.vectors

    def finished(self, want: Want, normalize: bool) -> TokenEmbeddings:
        """As an encoder hands it over: the pooled vector kept, at unit length if asked; tokens only if wanted.

        >>> made = TokenEmbeddings(np.array([[2, 3], [4, 5]], np.float32), np.ones(2, np.float32))
        >>> made.finished("pooled", normalize=True).pooled(), made.finished("pooled", normalize=True).vectors.shape
        (array([0.6, 0.8], dtype=float32), (0, 2))
        """
        pooled = self.pooled()
        return replace(
            self,
            vectors=self.vectors if want == "tokens" else self.vectors[:0].copy(),
            given=unit_rows(pooled).astype(np.float32) if normalize else pooled,
        )

    def weighted(self) -> Doubles:
        """(n, d) float64, each token vector times its weight.

        Raises:
            ValueError: only the pooled vector was kept.

        >>> TokenEmbeddings(np.array([[1, 2], [3, 0]], np.float32), np.array([1, 2], np.float32)).weighted()
        array([[1., 2.],
               [6., 0.]])
        """
        weighted: Doubles = self.weights.astype(np.float64)[:, None] * self.tokens()
        return weighted

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays and the text: what a cache pays for keeping this."""
        given = 0 if self.given is None else self.given.nbytes
        text = 0 if self.text is None else self.text.nbytes
        return self.vectors.nbytes + self.weights.nbytes + given + text


def pooled_rows(texts: Sequence[TokenEmbeddings]) -> Floats:
    """(len(texts), d) float32, the pooled vector of each text."""
    return np.stack([text.pooled() for text in texts])


def unit_rows(vectors: NDArray[np.number]) -> Doubles:
    """(n, d) -> (n, d) float64: each row divided by its length; a zero row stays zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    rows: Doubles = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Doubles = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
