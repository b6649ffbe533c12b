"""Fuzzy Jaccard index of two texts over the universe of their own tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import FuzzySets, dynamax, jaccard


class DynamaxJaccard(FuzzySets):
    """The fuzzy Jaccard index of two texts, as fuzzy sets over the universe of all their tokens.

    With X (n, d) and Y (m, d) the token vectors, each times its weight, U = [X; Y] (n + m, d) the universe of both
    texts' tokens, a_k = max(0, max_i (X U^T)_ik) and b_k = max(0, max_j (Y U^T)_jk) (n + m,) the memberships::

        s    = sum_k min(a_k, b_k) / sum_k max(a_k, b_k)             in [0, 1]
        h_ij = the sum of min(a_k, b_k) / sum_k' max(a_k', b_k')
               over the k with i = argmax_i' (X U^T)_i'k
               and j = argmax_j' (Y U^T)_j'k                         sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 where no token has a positive product with one of the other text, where all
    vectors of a text are zero, and where all are (0/0). Invariant to the order of the tokens, a common rotation, and
    one factor c != 0 on all vectors of both texts. A repeated token occurs twice in U, so it counts more. Exact ties go
    to the lowest index; a link's similarity is cos(x_i, y_j).

    As in the authors' code, and as their algorithm except for the name: the "set" keeps repeated tokens. The weights of
    the embeddings take the place of the paper's SIF weighting, also in U. Products are not divided by lengths: long
    vectors count more, which the paper found to be better. The special tokens of a transformer take part, as in `rcmd`.

    Prefer it to `cosine` for vectors that were not trained for the cosine of their mean, such as static word vectors;
    it needs no training.

    Costs (n + m)^2 d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0, -1], [0, 2, 1]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 1, 0], [-1, 0, 2], [0, 1, 1]], np.float32), np.ones(3, np.float32))
    >>> round(DynamaxJaccard().score(a, b), 6)  # a = [2, 5, 2, 2, 3] and b = [1, 3, 2, 5, 2]: 10/17
    0.588235

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: zhelezniak-etal-2019-dynamax, algorithm 1.
    """

    name: ClassVar[str] = "dynamax_jaccard"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, alg. 1"
    universe = staticmethod(dynamax)
    formula = staticmethod(jaccard)
