"""Jaccard index of soft cardinalities: like tokens count less than unlike ones."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np

from semblance.models.embeddings import Needs, TokenEmbeddings, unit_rows
from semblance.models.measures.pairwise import one_by_one


class SoftCardinality:
    """The Jaccard index of two bags whose size is soft: tokens that are alike count together as hardly more than one.

    With S a bag of token vectors s_1 ... s_n (d,), each times its weight, and X ∪ Y the union of two bags, which holds
    each vector as often as the bag that has more of it::

        s   = (|X| + |Y| - |X ∪ Y|) / |X ∪ Y|                        in [0, infinity)
        |S| = sum_j 1 / sum_i max(0, cos(s_i, s_j))

    Symmetric; 1 on identical texts; 0 where no token points even partly the way of one in the other text, where all
    vectors of a side are zero, and where all are (0/0): zero vectors are left out. Unchanged by the order of the
    tokens, by a common rotation and by a positive factor on any vector that stands in one of the bags only.

    The part above is never below 0, but the score can pass 1, for a token between two others makes a text softer: with
    X = [[1, 0], [0, 1]] and Y = [[1, 1]], |X ∪ Y| = 1.585786 is less than |X| = 2. Pairs of real sentences pass
    1 by a little, under static word vectors; there is no bound, for the d unit vectors against the d rows of a Hadamard
    matrix give about sqrt(d) / 2. No sum over pairs of tokens, so it cannot be explained.

    Departs from the authors' code, which divides twice by the length of s_j, so that what it sums is no cosine. Vectors
    are equal if all their bits are; that is so for equal words under an encoder without context, and needs no words.
    Under a transformer hardly any two are, and the union holds all tokens of both texts.

    Prefer it for pairs of sentences under a transformer, where nobody asks why: a token weighs the less the more like
    it there are. `rcmd` and `dynamax_jaccard` explain themselves.

    Costs (n + m)^2 d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 3]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0]], np.float32), np.ones(1, np.float32))
    >>> SoftCardinality().score(a, b)  # |X| = 2, |Y| = 1, |X ∪ Y| = 2
    0.5

    Raises:
        ValueError: when only pooled vectors were kept.

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
        return max(0.0, x + y - union) / union if union > 0 else 0.0  # rounding must not push a score out of its bounds

    score_many = one_by_one


def _bag(embeddings: TokenEmbeddings) -> Counter[bytes]:
    """How often each vector occurs that is not zero, by its bits."""
    rows = embeddings.weighted()
    return Counter(row.tobytes() for row in rows[rows.any(axis=1)])


def _soft_sizes(x: Counter[bytes], y: Counter[bytes]) -> tuple[float, float, float]:
    """|X|, |Y| and |X ∪ Y|."""
    union = x | y  # each vector as often as in the bag that has more of it
    if not union:
        return 0.0, 0.0, 0.0
    units = unit_rows(np.frombuffer(b"".join(union)).reshape(len(union), -1))
    counts = np.array([[bag[vector] for vector in union] for bag in (x, y, union)], np.float64)
    crowds = counts @ np.maximum(0.0, units @ units.T)
    left, right, both = np.divide(counts, crowds, out=np.zeros_like(counts), where=counts > 0).sum(axis=1)
    return float(left), float(right), float(both)
