"""Texts whose token vectors lie one below the other in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings


class StackedTexts(Sequence[TokenEmbeddings]):
    """Texts whose token vectors are the rows of one matrix, so that what compares them all at once need not copy them.

    Attributes:
        vectors: (M, d) float32, the token vectors of all texts in order.

    >>> rows = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> one, two = (TokenEmbeddings(part, np.ones(len(part), np.float32)) for part in (rows[:1], rows[1:]))
    >>> stacked_vectors(StackedTexts(rows, [one, two])[1:]).tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, vectors: Floats, texts: Sequence[TokenEmbeddings]) -> None:
        self.vectors = vectors
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> TokenEmbeddings: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TokenEmbeddings]: ...
    def __getitem__(self, index: int | slice) -> TokenEmbeddings | Sequence[TokenEmbeddings]:
        """A text, or neighbours among them, stacked too."""
        if isinstance(index, int):
            return self._texts[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return self._texts[index]
        first = sum(map(len, self._texts[:start]))
        some = self._texts[start:stop]
        return StackedTexts(self.vectors[first : first + sum(map(len, some))], some)


def stacked_vectors(texts: Sequence[TokenEmbeddings]) -> Floats:
    """(M, d) the token vectors of all texts, one below the other; copied unless they lie so already."""
    return texts.vectors if isinstance(texts, StackedTexts) else np.concatenate([text.vectors for text in texts])
