"""Vectors of whole words: the means of their tokens, without special tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.embeddings import Doubles, Integers, Needs, Phrases, TokenEmbeddings, unit_rows
from semblance.models.explanation import Explanation


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The n words of a text of l tokens, in reading order.

    Attributes:
        directions: (n, d) float64, the mean of each word's token vectors, of unit length; zero where the mean is zero.
        forms: the n words as written, in lower case.
        word_of: (l,) the word of each token; -1 for special tokens.
        phrases: of a glossary.
    """

    directions: Doubles
    forms: tuple[str, ...]
    word_of: Integers
    phrases: Phrases | None = None

    def __len__(self) -> int:
        return len(self.forms)

    @classmethod
    def of(cls, embeddings: TokenEmbeddings) -> Words:
        """The words of a text; a text of special tokens only has none.

        Raises:
            ValueError: the embeddings hold only pooled vectors, or no text.
        """
        vectors, text = embeddings.token_vectors().astype(np.float64), embeddings.text
        if text is None:
            raise ValueError("this measure compares words, but these embeddings have no text")
        real = ~text.special
        numbers, first, members, counts = np.unique(
            text.words[real], return_index=True, return_inverse=True, return_counts=True
        )
        word_of = np.full(len(vectors), -1, np.int64)
        word_of[real] = members
        sums = np.zeros((len(numbers), vectors.shape[1]))
        np.add.at(sums, members, vectors[real])
        starts, ends = np.full(len(numbers), len(text.text)), np.zeros(len(numbers), np.int64)
        np.minimum.at(starts, members, text.spans[real, 0])
        np.maximum.at(ends, members, text.spans[real, 1])
        forms = tuple(text.text[start:end].lower() for start, end in zip(starts, ends, strict=True))
        phrases = embeddings.phrases and embeddings.phrases.at(np.flatnonzero(real)[first])
        return cls(unit_rows(sums / counts[:, None]), forms, word_of, phrases)

    def cosines(self, other: Words) -> Doubles:
        """(n, m) the cosine of each word with each of another text; a glossary may override it."""
        cosines: Doubles = np.clip(self.directions @ other.directions.T, -1.0, 1.0)
        if self.phrases and other.phrases and other is not self:
            self.phrases.override(cosines, other.phrases)
        return cosines


def spread_evenly(parts: Doubles, left: Words, right: Words) -> Doubles:
    """Divide the part of each pair of words equally among their tokens; special tokens have 0.

    Args:
        parts: (n, m) of each pair of words.
        left: the n words of the left text.
        right: the m words of the right text.

    Returns:
        (tokens left, tokens right), with the same sum.
    """
    sizes = np.outer(*(np.bincount(side.word_of[side.word_of >= 0], minlength=len(side)) for side in (left, right)))
    return by_token(parts / np.maximum(sizes, 1), left, right)


def by_token(values: Doubles, left: Words, right: Words) -> Doubles:
    """Repeat the value of each pair of words for their tokens; special tokens have 0.

    Args:
        values: (n, m) of each pair of words.
        left: the n words of the left text.
        right: the m words of the right text.

    Returns:
        (tokens left, tokens right).
    """
    padded = np.pad(values, ((0, 1), (0, 1)))  # the last row and column are those of special tokens, number -1
    repeated: Doubles = padded[np.ix_(left.word_of, right.word_of)]
    return repeated


class WordTransport(ABC):
    """Base of the measures that sum what a transport plan between whole words moves."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "words"
    package: ClassVar[str] = "ot"

    @staticmethod
    @abstractmethod
    def parts(left: Words, right: Words) -> Doubles:
        """(n, m) h of each pair of words."""

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        return _sum(self.parts(Words.of(a), Words.of(b)))

    score_many = score_pairwise

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        left, right = Words.of(a), Words.of(b)
        parts = self.parts(left, right)
        links, contribution = by_token(left.cosines(right), left, right), spread_evenly(parts, left, right)
        return Explanation.of(a, b, score=_sum(parts), similarity=links, contribution=contribution)


def _sum(parts: Doubles) -> float:
    return min(float(parts.sum()), 1.0)  # rounding must not exceed the bounds
