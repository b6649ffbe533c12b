"""Relaxed contextualized token mover's similarity, both ways."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import BestMatches


class Rcmd(BestMatches):
    """The mean of `rcmd1` and `rcmd2`: tokens of both texts match their best in the other.

    With X (n, d) and Y (m, d) the token vectors and C_ij = cos(x_i, y_j)::

        s    = (s1 + s2) / 2                             in [-1, 1]
        h_ij = half of rcmd1's part + half of rcmd2's    sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 on zero vectors. Invariant to the order of the tokens, to a positive factor on
    any token vector, and to a common rotation. The distances 1 - s1 and 1 - s2 never exceed that of exact transport.

    Departs from the authors' code on exact ties: there every tied pair counts, and the parts sum to more than the
    score; here the lowest index wins. Special tokens count in n, m and the matches, as in that code.

    Prefer it for pairs of sentences whose links matter; for short queries over long documents see `rcmd1`, to rescore
    the hits of a search `rcmd1_words`.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 1], [1, 1]], np.float32), np.ones(3, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 0], [1, 3]], np.float32), np.ones(2, np.float32))
    >>> round(Rcmd().score(a, b), 6)
    0.961023

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: lee-etal-2022-clrcmd, section 3.
    """

    name: ClassVar[str] = "rcmd"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3"
