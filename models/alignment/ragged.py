"""Batches of texts of different lengths: split by size, and concatenated in one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings


class RaggedTexts(Sequence[TokenEmbeddings]):
    """Texts whose token vectors are consecutive rows of one matrix; batches need no copy.

    Attributes:
        vectors: (M, d) float32, the token vectors of all texts in order.

    >>> rows = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    >>> one, two = (TokenEmbeddings(part, np.ones(len(part), np.float32)) for part in (rows[:1], rows[1:]))
    >>> concatenated_vectors(RaggedTexts(rows, [one, two])[1:]).tolist()
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
        """One text, or a contiguous slice that shares the matrix."""
        if isinstance(index, int):
            return self._texts[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return self._texts[index]
        first = sum(map(len, self._texts[:start]))
        texts = self._texts[start:stop]
        return RaggedTexts(self.vectors[first : first + sum(map(len, texts))], texts)


def concatenated_vectors(texts: Sequence[TokenEmbeddings]) -> Floats:
    """(M, d) the token vectors of all texts, concatenated; no copy for `RaggedTexts`."""
    return texts.vectors if isinstance(texts, RaggedTexts) else np.concatenate([text.vectors for text in texts])


def split_by_size(sizes: Sequence[int], limit: int) -> Iterator[slice]:
    """Consecutive slices whose sizes sum to at most `limit`; a larger item is a slice alone.

    >>> list(split_by_size([2, 2, 3, 9, 1], limit=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    start = total = 0
    for i, size in enumerate(sizes):
        if i > start and total + size > limit:
            yield slice(start, i)
            start, total = i, 0
        total += size
    if sizes:
        yield slice(start, len(sizes))
