"""Cosine of the memberships of two texts in the universe of their own tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import FuzzySets, cosine, dynamax


class DynamaxCosine(FuzzySets):
    """DynaMax with the cosine of the memberships instead of the Jaccard index.

    With X (n, d) and Y (m, d) the token vectors, each times its weight, U = [X; Y] (n + m, d) the universe of both
    texts' tokens, a_k = max(0, max_i (X U^T)_ik) and b_k = max(0, max_j (Y U^T)_jk) (n + m,) the memberships, |a| the
    Euclidean length::

        s    = sum_k a_k b_k / (|a| |b|)                             in [0, 1]
        h_ij = the sum of a_k b_k / (|a| |b|)
               over the k with i = argmax_i' (X U^T)_i'k
               and j = argmax_j' (Y U^T)_j'k                         sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 where no token has a positive product with one of the other text, and where all
    vectors of a text are zero (0/0). Invariances, exact ties, weights and special tokens are as in `dynamax_jaccard`.

    As in the authors' code. It is an ablation in the paper: the same memberships, compared by another formula.

    Prefer `dynamax_jaccard`, which the paper finds better on most sets; use this one to separate the effect of the
    universe from that of the index.

    Costs (n + m)^2 d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0, -1], [0, 2, 1]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 1, 0], [-1, 0, 2], [0, 1, 1]], np.float32), np.ones(3, np.float32))
    >>> round(DynamaxCosine().score(a, b), 6)  # a = [2, 5, 2, 2, 3] and b = [1, 3, 2, 5, 2]: 37 / sqrt(46 * 43)
    0.831933

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: zhelezniak-etal-2019-dynamax, algorithm 1 with the cosine in place of Jaccard's index.
    """

    name: ClassVar[str] = "dynamax_cosine"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, alg. 1 with the cosine"
    universe = staticmethod(dynamax)
    formula = staticmethod(cosine)
