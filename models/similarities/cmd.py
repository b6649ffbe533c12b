"""Contextualized token mover's similarity: exact transport under cosines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation
from semblance.models.measures.alignment import cosine_matrix
from semblance.models.measures.pairwise import one_by_one
from semblance.models.measures.transport import exact_plan


class Cmd:
    """The most cosine that all tokens of one text can gather by moving, in equal shares, onto those of the other.

    With X (n, d) and Y (m, d) the token vectors, C_ij = cos(x_i, y_j), and T (n, m) >= 0 whose rows sum to 1/n and
    whose columns sum to 1/m::

        s    = max_T sum_ij T_ij C_ij = 1 - min_T sum_ij T_ij (1 - C_ij)    in [-1, 1]
        h_ij = T_ij C_ij                                                    sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 on zero vectors. Never above `rcmd1`, `rcmd2` and `rcmd`, which drop one of the
    two constraints each. Every token counts alike, the special ones included, whatever its weight. Where several plans
    are best, the parts are those of one of them.

    Prefer it where no token may be matched twice at the cost of another, and to see what `rcmd` gives up for its speed.

    Costs n m d multiplications a pair and then a linear programme of n m unknowns: the slowest of the measures on long
    texts, together with `word_movers`.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Cmd().score(a, b), 6)
    0.916483

    Raises:
        ValueError: when only pooled vectors were kept.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_CMD), solved by flamary-etal-2021-pot.
    """

    name: ClassVar[str] = "cmd"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_CMD"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        score, _, _ = _solved(a, b)
        return score

    score_many = one_by_one

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """The parts h_ij."""
        score, cosines, parts = _solved(a, b)
        return Explanation.of(a, b, score=score, similarity=cosines, contribution=parts)


def _solved(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[float, Doubles, Doubles]:
    """s, C and h."""
    cosines = cosine_matrix(a, b)
    parts = exact_plan(1 - cosines) * cosines
    return float(np.clip(parts.sum(), *Cmd.bounds)), cosines, parts  # rounding must not push a score out of its bounds
