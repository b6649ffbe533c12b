"""One-way relaxed contextualized token mover's similarity: right to left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation
from semblance.models.measures.alignment import best_match_means, cosine_matrix, pair_means
from semblance.models.measures.transport import column_plan


class Rcmd2:
    """`rcmd1` with the texts exchanged: the mean best cosine of the right text's tokens.

    With X (n, d) and Y (m, d) the token vectors and C_ij = cos(x_i, y_j)::

        s2 = (1/m) sum_j max_i C_ij                      in [-1, 1]
        h_ij = C_ij / m  if i = argmax_i' C_i'j, else 0  sum_ij h_ij = s2

    Not symmetric. 1 if the left text has every right token; 0 on zero vectors. Exact ties go to the lowest i.

    Prefer it where the query should cover the document, for example to find short quotations from the query.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Rcmd2().score(a, b), 6)
    0.974342

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_RCMD2).
    """

    name: ClassVar[str] = "rcmd2"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_RCMD2"
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    symmetric: ClassVar[bool] = False
    needs: ClassVar[Needs] = "tokens"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s2."""
        _, backward = pair_means(a, b)
        return backward

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(c,) s2 of the query with each candidate."""
        scores: Doubles = self.score_matrix([query], candidates)[0]
        return scores

    def score_matrix(self, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
        """(c1, c2) s2 of each left text with each right one."""
        _, backward = best_match_means(left, right)
        return backward

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        cosines = cosine_matrix(a, b)
        parts = column_plan(cosines) * cosines
        return Explanation.of(a, b, score=self.score(a, b), similarity=cosines, contribution=parts)
