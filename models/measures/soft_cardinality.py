"""Jaccard index of soft cardinalities: similar tokens count less than different ones."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.embeddings import Needs, TokenEmbeddings, unit_rows


class SoftCardinality:
    """The Jaccard index of soft cardinalities: similar tokens count less than different ones.

    With S a bag of token vectors s_1 ... s_n (d,), each times its weight, and X ∪ Y the union of two bags, with the
    larger of the two counts of each vector::

        s   = (|X| + |Y| - |X ∪ Y|) / |X ∪ Y|                        in [0, infinity)
        |S| = sum_j 1 / sum_i max(0, cos(s_i, s_j))

    Symmetric; 1 on identical texts; 0 where no token has a positive cosine with one of the other text, where all
    vectors of a text are zero, and where all are (0/0): zero vectors are left out. Invariant to the order of the
    tokens, to a common rotation, and to a positive factor on any vector that occurs in one of the bags only.

    The numerator is never below 0, but the score can exceed 1, since a token between two others reduces the
    cardinality: with X = [[1, 0], [0, 1]] and Y = [[1, 1]], |X ∪ Y| = 1.585786 is less than |X| = 2. Pairs of real
    sentences exceed 1 slightly, under static word vectors. There is no bound: the d unit vectors against the d rows of
    a Hadamard matrix give about sqrt(d) / 2. The score is not a sum over pairs of tokens, so it cannot be explained.

    Departs from the authors' code, which divides twice by the length of s_j, so that its terms are not cosines. Vectors
    are equal if all their bits are: true for equal words under an encoder without context, without comparing words.
    Under a transformer hardly any two vectors are equal, and the union contains all tokens of both texts.

    Prefer it for pairs of sentences under a transformer, where no explanation is needed: a token counts less, the more
    similar ones there are. `rcmd` and `dynamax_jaccard` have explanations.

    Costs (n + m)^2 d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 3]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0]], np.float32), np.ones(1, np.float32))
    >>> SoftCardinality().score(a, b)  # |X| = 2, |Y| = 1, |X ∪ Y| = 2
    0.5

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: jimenez-etal-2012-soft-cardinality, with the cosine of zhelezniak-etal-2019-dynamax's baseline (p = 1).
    """

    name: ClassVar[str] = "soft_cardinality"
    reference: ClassVar[str] = "jimenez-etal-2012-soft-cardinality, Jaccard with cosines"
    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        x, y, union = _soft_sizes(_bag(a), _bag(b))
        return max(0.0, x + y - union) / union if union > 0 else 0.0  # rounding must not give a score below 0

    score_many = score_pairwise


def _bag(embeddings: TokenEmbeddings) -> Counter[bytes]:
    """Count of each nonzero vector, by its bits."""
    rows = embeddings.weighted_vectors()
    return Counter(row.tobytes() for row in rows[rows.any(axis=1)])


def _soft_sizes(x: Counter[bytes], y: Counter[bytes]) -> tuple[float, float, float]:
    """|X|, |Y| and |X ∪ Y|."""
    union = x | y  # the larger of the two counts
    if not union:
        return 0.0, 0.0, 0.0
    units = unit_rows(np.frombuffer(b"".join(union)).reshape(len(union), -1))
    counts = np.array([[bag[vector] for vector in union] for bag in (x, y, union)], np.float64)
    crowds = counts @ np.maximum(0.0, units @ units.T)
    left, right, both = np.divide(counts, crowds, out=np.zeros_like(counts), where=counts > 0).sum(axis=1)
    return float(left), float(right), float(both)
