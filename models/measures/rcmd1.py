"""One-way relaxed contextualized token mover's similarity: left to right."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import BestMatches, Value


class Rcmd1(BestMatches):
    """The mean, over the left text's tokens, of the best cosine with a token of the right text.

    With X (n, d) and Y (m, d) the token vectors and C_ij = cos(x_i, y_j), the optimal transport from X to Y is relaxed
    by dropping the constraint on Y, so that each token sends all of its mass 1/n to its best match::

        s1 = (1/n) sum_i max_j C_ij                      in [-1, 1]
        h_ij = C_ij / n  if j = argmax_j' C_ij', else 0  sum_ij h_ij = s1

    Not symmetric: left is the query, right the document. 1 if the right text has every left token; 0 on zero vectors.
    Exact ties go to the lowest j. Special tokens count, as in the authors' code.

    Prefer it to `rcmd` for search with short queries over long documents: additional words of the document do not lower
    the score.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Rcmd1().score(a, b), 6)
    0.947703

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_RCMD1).
    """

    name: ClassVar[str] = "rcmd1"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_RCMD1"
    symmetric: ClassVar[bool] = False

    def combined(self, forward: Value, backward: Value) -> Value:
        """s1, or its plan."""
        del backward
        return forward
