"""Contextualized token mover's similarity: exact transport under cosines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.alignment.token_matches import cosine_matrix
from semblance.models.alignment.transport import exact_plan
from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation


class Cmd:
    """The optimal transport of one text's tokens to the other's, in equal shares, under cosines.

    With X (n, d) and Y (m, d) the token vectors, C_ij = cos(x_i, y_j), and T (n, m) >= 0 whose rows sum to 1/n and
    whose columns sum to 1/m::

        s    = max_T sum_ij T_ij C_ij = 1 - min_T sum_ij T_ij (1 - C_ij)    in [-1, 1]
        h_ij = T_ij C_ij                                                    sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 on zero vectors. Never above `rcmd1` and `rcmd2`, which drop one constraint each,
    nor above `rcmd`. All tokens count equally, special tokens included; token weights are not used. Where several plans
    are optimal, the parts are those of one of them.

    Prefer it where a token must not be matched several times while others are not, or to measure what `rcmd` loses by
    its relaxation.

    Costs n m d multiplications a pair and then a linear program of n m unknowns: with `word_movers`, the slowest
    measure on long texts.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Cmd().score(a, b), 6)
    0.916483

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_CMD), solved by flamary-etal-2021-pot.
    """

    name: ClassVar[str] = "cmd"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_CMD"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"
    package: ClassVar[str] = "ot"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        score, _, _ = _solve(a, b)
        return score

    score_many = score_pairwise

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        score, cosines, parts = _solve(a, b)
        return Explanation.of(a, b, score=score, similarity=cosines, contribution=parts)


def _solve(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[float, Doubles, Doubles]:
    """s, C and h."""
    cosines = cosine_matrix(a, b)
    parts = exact_plan(1 - cosines) * cosines
    return float(np.clip(parts.sum(), *Cmd.bounds)), cosines, parts  # rounding must not exceed the bounds
