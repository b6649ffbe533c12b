"""Relaxed word mover's similarity: every token is matched to its nearest one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.alignment.token_matches import distance_matrix
from semblance.models.alignment.transport import column_plan, row_plan
from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation


class RelaxedWordMovers:
    """Minus the larger of two mean distances: of each text's tokens to the nearest of the other.

    With X (n, d) and Y (m, d) the token vectors and d_ij = |x_i - y_j|::

        s    = -max((1/n) sum_i min_j d_ij, (1/m) sum_j min_i d_ij)    in (-inf, 0]
        h_ij = -d_ij / n  if j = argmin_j' d_ij', else 0               sum_ij h_ij = s, if the left mean is the larger
        h_ij = -d_ij / m  if i = argmin_i' d_i'j, else 0               sum_ij h_ij = s, if the right mean is the larger

    Symmetric; 0 on identical texts and on zero vectors. Never below `word_movers`: each mean drops one constraint, and
    the larger is the tighter bound. A link's similarity is -d_ij. Exact ties go to the lowest index; between the two
    texts, to the left one. All tokens count equally, special tokens included; token weights are not used.

    Prefer it to `word_movers` where that takes too long; the paper uses it to prune candidates.

    Costs n m d multiplications a pair, which are not a matrix product and so take longer than those of `rcmd`.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[0, 0], [3, 4]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[0, 0], [0, 0], [3, 4]], np.float32), np.ones(3, np.float32))
    >>> c = TokenEmbeddings(np.array([[0, 0]], np.float32), np.ones(1, np.float32))
    >>> RelaxedWordMovers().score(a, b), RelaxedWordMovers().score(a, c), RelaxedWordMovers().score(c, a)
    (0.0, -2.5, -2.5)

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: kusner-etal-2015-wmd, section 4.1.
    """

    name: ClassVar[str] = "relaxed_word_movers"
    reference: ClassVar[str] = "kusner-etal-2015-wmd, sec. 4.1, minus the relaxed distance"
    bounds: ClassVar[tuple[float, float]] = (-np.inf, 0.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        distances = distance_matrix(a, b)
        return 0.0 - float(max(_means(distances)))

    score_many = score_pairwise

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij of the text with the larger mean."""
        distances = distance_matrix(a, b)
        left, right = _means(distances)
        plan = row_plan(-distances) if left >= right else column_plan(-distances)
        similarity = 0.0 - distances
        return Explanation.of(a, b, score=0.0 - max(left, right), similarity=similarity, contribution=plan * similarity)


def _means(distances: Doubles) -> tuple[float, float]:
    """Mean distance to the nearest token, of the left tokens and of the right ones."""
    return float(distances.min(axis=1).mean()), float(distances.min(axis=0).mean())
