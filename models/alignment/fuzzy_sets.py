"""Texts as fuzzy sets over a common universe, and the similarity of two such sets.

A measure combines one of the universes below with one of the formulas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.alignment.token_matches import cosine_matrix
from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation

Formula: TypeAlias = Callable[[Doubles, Doubles], tuple[Doubles, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Degrees:
    """Degrees of membership of n left and m right tokens in the K elements of a universe.

    The membership of a text is the maximum over its tokens, clipped at 0: with L (n, K) and R (m, K) the
    degrees, the memberships are a_k = max(0, max_i L_ik) and b_k = max(0, max_j R_jk).

    Attributes:
        left: (n, K) float64.
        right: (m, K) float64.
    """

    left: Doubles
    right: Doubles

    def memberships(self) -> tuple[Doubles, Doubles]:
        """a and b (K,)."""
        return self.left.max(axis=0, initial=0.0), self.right.max(axis=0, initial=0.0)

    def score(self, formula: Formula) -> float:
        """Similarity of the two sets, in [0, 1]; 0 where the formula is 0/0."""
        terms, whole = formula(*self.memberships())
        # rounding must not push a score out of its bounds
        return min(1.0, float(terms.sum()) / whole) if whole > 0 else 0.0

    def parts(self, formula: Formula) -> Doubles:
        """(n, m) parts of the score: that of element k goes to the tokens that attain a_k and b_k.

        Exact ties go to the lowest index.
        """
        parts = np.zeros((len(self.left), len(self.right)))
        terms, whole = formula(*self.memberships())
        if whole > 0 and parts.size:
            np.add.at(parts, (self.left.argmax(axis=0), self.right.argmax(axis=0)), terms / whole)
        return parts


class FuzzySets(ABC):
    """Base of the measures of fuzzy sets: a universe of elements and a formula."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"

    @staticmethod
    @abstractmethod
    def universe(a: TokenEmbeddings, b: TokenEmbeddings) -> Degrees:
        """Degrees of the tokens of both texts."""

    @staticmethod
    @abstractmethod
    def formula(a: Doubles, b: Doubles) -> tuple[Doubles, float]:
        """Terms of the similarity of two memberships (K,), and what their sum is divided by."""

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        return self.universe(a, b).score(self.formula)

    score_many = score_pairwise

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        degrees = self.universe(a, b)
        score, parts = degrees.score(self.formula), degrees.parts(self.formula)
        return Explanation.of(a, b, score=score, similarity=self.links(a, b), contribution=parts)

    def links(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
        """(n, m) similarities of the links: cosines of their vectors."""
        return cosine_matrix(a, b)


class SharedTokens(FuzzySets):
    """Base of the measures that count equal tokens, whatever their vectors."""

    needs: ClassVar[Needs] = "words"

    def links(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
        """(n, m) 1 between equal tokens, else 0."""
        words = word_set(a, b)
        equal: Doubles = words.left @ words.right.T
        return equal


def max_pooled(a: TokenEmbeddings, b: TokenEmbeddings) -> Degrees:
    """Degrees over the d dimensions: L = X and R = Y, the weighted token vectors."""
    return Degrees(a.weighted_vectors(), b.weighted_vectors())


def dynamax(a: TokenEmbeddings, b: TokenEmbeddings) -> Degrees:
    """Degrees over the n + m tokens of both texts: L = X U^T, R = Y U^T, U = [X; Y], weighted."""
    universe = np.concatenate((a.weighted_vectors(), b.weighted_vectors()))
    products = universe @ universe.T
    return Degrees(products[: len(a)], products[len(a) :])


def word_set(a: TokenEmbeddings, b: TokenEmbeddings) -> Degrees:
    """Degrees over the K distinct token ids: 1 where a token that is not special has the id."""
    return _crisp(_ids(a), _ids(b))


def word_bag(a: TokenEmbeddings, b: TokenEmbeddings) -> Degrees:
    """As `word_set`, where the first and the second "the" of a text are different elements."""
    return _crisp(_numbered(_ids(a)), _numbered(_ids(b)))


def jaccard(a: Doubles, b: Doubles) -> tuple[Doubles, float]:
    """Terms min(a_k, b_k) over sum_k max(a_k, b_k)."""
    return np.minimum(a, b), float(np.maximum(a, b).sum())


def otsuka(a: Doubles, b: Doubles) -> tuple[Doubles, float]:
    """Terms min(a_k, b_k) over sqrt(sum_k a_k sum_k b_k)."""
    return np.minimum(a, b), float(np.sqrt(a.sum() * b.sum()))


def dice(a: Doubles, b: Doubles) -> tuple[Doubles, float]:
    """Terms 2 min(a_k, b_k) over sum_k a_k + sum_k b_k."""
    return 2 * np.minimum(a, b), float(a.sum() + b.sum())


def cosine(a: Doubles, b: Doubles) -> tuple[Doubles, float]:
    """Terms a_k b_k over |a| |b|."""
    return a * b, float(np.sqrt((a @ a) * (b @ b)))


def _ids(embeddings: TokenEmbeddings) -> list[int | None]:
    """Id of each token; None for special tokens and in a text without known words."""
    text = embeddings.text
    if text is None:
        raise ValueError("this measure compares tokens by their text, but these embeddings have none")
    pairs = zip(text.ids.tolist(), text.special, strict=True)
    return [None if special or entry < 0 else entry for entry, special in pairs]


def _numbered(ids: list[int | None]) -> list[tuple[int, int] | None]:
    """Each id with the number of its earlier occurrences."""
    counts = Counter[int | None]()
    numbered: list[tuple[int, int] | None] = []
    for entry in ids:
        numbered.append(None if entry is None else (entry, counts[entry]))
        counts[entry] += 1
    return numbered


def _crisp(left: Sequence[Hashable], right: Sequence[Hashable]) -> Degrees:
    """Degree 1 where a token is the element, 0 elsewhere; None is not an element."""
    elements = dict.fromkeys([*left, *right])
    elements.pop(None, None)
    column = {element: k for k, element in enumerate(elements)}
    ones = np.eye(len(column) + 1, len(column))  # the last row, all zeros, is for None
    return Degrees(*(ones[[column.get(each, -1) for each in side]] for side in (left, right)))
