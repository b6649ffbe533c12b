"""Fuzzy Jaccard index of max-pooled token vectors."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import FuzzySets, jaccard, max_pooled


class MaxPooledJaccard(FuzzySets):
    """The fuzzy Jaccard index of two max-pooled texts; each dimension is an element.

    With X (n, d) and Y (m, d) the token vectors, each times its weight, a_k = max(0, max_i X_ik) and
    b_k = max(0, max_j Y_jk) (d,) their largest values in each dimension, clipped at 0::

        s    = sum_k min(a_k, b_k) / sum_k max(a_k, b_k)             in [0, 1]
        h_ij = the sum of min(a_k, b_k) / sum_k' max(a_k', b_k')
               over the k with i = argmax_i' X_i'k
               and j = argmax_j' Y_j'k                               sum_ij h_ij = s

    Symmetric; 1 on identical texts if any value is above 0; 0 where no dimension is above 0 in both texts, where a text
    has no value above 0, and where neither has (0/0). Invariant to the order of the tokens, to repetition, and to one
    positive factor on all vectors, but not to a rotation. Exact ties go to the lowest index; a link's similarity is
    cos(x_i, y_j).

    As in the paper and the authors' code: DynaMax with the unit vectors as its universe, U = I. The weights of the
    embeddings take the place of SIF weighting; the special tokens of a transformer take part, as in `rcmd`.

    Prefer it to `dynamax_jaccard` for long texts: its time is linear in their tokens, and it is often not much worse.

    Costs (n + m) d comparisons a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 2]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 1]], np.float32), np.ones(1, np.float32))
    >>> round(MaxPooledJaccard().score(a, b), 6)  # a = [1, 2] and b = [1, 1]: 2/3
    0.666667

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: zhelezniak-etal-2019-dynamax, max-pooled word vectors as fuzzy sets: universe U = I.
    """

    name: ClassVar[str] = "max_pooled_jaccard"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, max-pooling with U = I"
    universe = staticmethod(max_pooled)
    formula = staticmethod(jaccard)
