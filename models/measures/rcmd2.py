"""One-way relaxed contextualized token mover's similarity: right to left."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import BestMatches, Value


class Rcmd2(BestMatches):
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
    symmetric: ClassVar[bool] = False

    def combined(self, forward: Value, backward: Value) -> Value:
        """s2, or its plan."""
        del forward
        return backward
