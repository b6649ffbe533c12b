"""Otsuka coefficient of two texts over the universe of their own tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import FuzzySets, dynamax, otsuka


class DynamaxOtsuka(FuzzySets):
    """DynaMax with the Otsuka coefficient: the overlap over the geometric mean of the sizes.

    With X (n, d) and Y (m, d) the token vectors, each times its weight, U = [X; Y] (n + m, d) the universe of both
    texts' tokens, a_k = max(0, max_i (X U^T)_ik) and b_k = max(0, max_j (Y U^T)_jk) (n + m,) the memberships,
    |a| = sum_k a_k::

        s    = sum_k min(a_k, b_k) / sqrt(|a| |b|)                   in [0, 1]
        h_ij = the sum of min(a_k, b_k) / sqrt(|a| |b|)
               over the k with i = argmax_i' (X U^T)_i'k
               and j = argmax_j' (Y U^T)_j'k                         sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 where no token has a positive product with one of the other text, and where all
    vectors of a text are zero (0/0). Never below `dynamax_dice`, which is never below `dynamax_jaccard`. Invariances,
    exact ties, weights and special tokens are as in `dynamax_jaccard`, and as in the authors' code.

    Prefer it to `dynamax_jaccard` where the texts differ much in length: it penalizes the additional tokens less.

    Costs (n + m)^2 d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0, -1], [0, 2, 1]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 1, 0], [-1, 0, 2], [0, 1, 1]], np.float32), np.ones(3, np.float32))
    >>> round(DynamaxOtsuka().score(a, b), 6)  # a = [2, 5, 2, 2, 3] and b = [1, 3, 2, 5, 2]: 10 / sqrt(14 * 13)
    0.741249

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: zhelezniak-etal-2019-dynamax, algorithm 1 with the Otsuka coefficient in place of Jaccard's.
    """

    name: ClassVar[str] = "dynamax_otsuka"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, alg. 1 with the Otsuka coefficient"
    universe = staticmethod(dynamax)
    formula = staticmethod(otsuka)
