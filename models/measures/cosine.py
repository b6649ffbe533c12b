"""Cosine of the mean token vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semblance.models.alignment.transport import average_pooling_plan
from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings, pooled_rows, unit_rows
from semblance.models.errors import NotExplainable
from semblance.models.explanation import Explanation


class Cosine:
    """The cosine of the two pooled vectors; for mean pooling, a sum over all pairs of tokens.

    With X (n, d) and Y (m, d) the token vectors, v and w their weights scaled to sum 1, u = v X and z = w Y the
    pooled vectors::

        s    = u . z / (|u| |z|)                         in [-1, 1]
        h_ij = v_i w_j (x_i . y_j) / (|u| |z|)           sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 where a pooled vector is zero. A link's similarity is cos(x_i, y_j).

    h_ij is T_ij C_ij with average pooling's plan T (alignment/transport.py) and the cosines C. The paper writes the
    pair's part as that plan times a cost, which sums to 1 - s; `h` is the form of its published code, which sums to s.
    It holds for any weights, not only 1/n.

    Prefer it for search, which needs one vector per text; `rcmd` compares word by word.

    Costs d multiplications a pair once the texts are pooled; indexes use it.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Cosine().score(a, b), 6)
    0.980581

    Raises:
        NotExplainable: from `explain`, where the encoder does not pool by a weighted mean (cls, max).

    Source: lee-etal-2022-clrcmd, equation 3.
    """

    name: ClassVar[str] = "cosine"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, eq. 3"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "pooled"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """u . z / (|u| |z|)."""
        u, z = (each.pooled().astype(np.float64) for each in (a, b))
        lengths = math.sqrt(float(u @ u) * float(z @ z))
        low, high = self.bounds
        return min(high, max(low, float(u @ z) / lengths)) if lengths else 0.0

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(c,) cosines of the query's pooled vector with each candidate's."""
        scores: Doubles = self.score_matrix([query], candidates)[0]
        return scores

    def score_matrix(self, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
        """(c1, c2) cosines of the left texts' pooled vectors with the right ones'."""
        if not (left and right):
            return np.empty((len(left), len(right)))
        cosines = unit_rows(pooled_rows(left)) @ unit_rows(pooled_rows(right)).T
        scores: Doubles = np.clip(cosines, *self.bounds)
        return scores

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        if not (a.mean_pooled and b.mean_pooled):
            raise NotExplainable(
                "this encoder does not pool by a mean of its tokens, so a cosine of its vectors has no token parts; "
                "use rcmd, which compares token vectors"
            )
        cosines = unit_rows(a.vectors) @ unit_rows(b.vectors).T
        parts = average_pooling_plan(a, b) * cosines
        return Explanation.of(a, b, score=self.score(a, b), similarity=cosines, contribution=parts)
