"""Cosine of max-pooled token vectors."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import FuzzySets, cosine, max_pooled


class MaxPooledCosine(FuzzySets):
    """The cosine of two max-pooled texts, clipped at 0.

    With X (n, d) and Y (m, d) the token vectors, each times its weight, a_k = max(0, max_i X_ik) and
    b_k = max(0, max_j Y_jk) (d,) their largest values in each dimension, clipped at 0, |a| the Euclidean length::

        s    = sum_k a_k b_k / (|a| |b|)                             in [0, 1]
        h_ij = the sum of a_k b_k / (|a| |b|)
               over the k with i = argmax_i' X_i'k
               and j = argmax_j' Y_j'k                               sum_ij h_ij = s

    Symmetric; 1 on identical texts if any value is above 0; 0 where no dimension is above 0 in both texts, where a text
    has no value above 0, and where neither has (0/0). Invariant to the order of the tokens, to repetition, and to one
    positive factor on all vectors of a text, but not to a rotation. Exact ties go to the lowest index; a link's
    similarity is cos(x_i, y_j).

    Without the clip, a dimension where all tokens are negative would have a negative value; here it counts as empty, so
    that this and `max_pooled_jaccard` compare the same memberships, as in the paper.

    Prefer `max_pooled_jaccard` for static word vectors, where the paper finds it better; for the last layer of a
    transformer this measure can be the better one.

    Costs (n + m) d comparisons a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [0, 2]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[1, 1]], np.float32), np.ones(1, np.float32))
    >>> round(MaxPooledCosine().score(a, b), 6)  # a = [1, 2] and b = [1, 1]: 3 / sqrt(5 * 2)
    0.948683

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: zhelezniak-etal-2019-dynamax, max-pooled word vectors compared by cosine.
    """

    name: ClassVar[str] = "max_pooled_cosine"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, max-pooling compared by cosine"
    universe = staticmethod(max_pooled)
    formula = staticmethod(cosine)
