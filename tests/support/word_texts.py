"""Texts with one token a word, and what a measure of words says of each pair of words."""

from __future__ import annotations

import numpy as np

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.protocols import Explainable
from semblance.models.text import TokenizedText
from tests.support.plain_measures import plain_cosine


def plain_words(a: TokenEmbeddings) -> list[Doubles]:
    assert a.text is not None
    numbers = [int(number) for number in a.text.words]
    return [
        np.mean([row for row, own in zip(a.vectors.astype(np.float64), numbers, strict=True) if own == number], axis=0)
        for number in sorted(set(numbers) - {-1})
    ]


def plain_word_cosines(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    left, right = plain_words(a), plain_words(b)
    return np.array([[plain_cosine(x, y) for y in right] for x in left]).reshape(len(left), len(right))


def words(text: str, vectors: list[list[float]]) -> TokenEmbeddings:
    ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1
    spans = np.stack([ends - [len(word) for word in text.split()], ends], axis=1).astype(np.int32)
    numbers = np.arange(len(vectors), dtype=np.int32)
    return TokenEmbeddings(
        np.array(vectors, np.float32), np.ones(len(vectors), np.float32), TokenizedText(text, numbers, spans, numbers)
    )


def parts_of(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    measure = similarity(name)
    assert isinstance(measure, Explainable)
    return measure.explain(a, b).contribution


def by_words(parts: Doubles, a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) sums over the tokens of each pair of words."""
    rows, columns = (each.text.words[~each.text.special] for each in (a, b) if each.text is not None)
    return np.array(
        [[parts[np.ix_(rows == i, columns == j)].sum() for j in np.unique(columns)] for i in np.unique(rows)]
    )
