"""Euclidean distance of the pooled vectors, as a similarity."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.pairwise import NegativeDistance


class NegativeEuclidean(NegativeDistance):
    """Minus the Euclidean distance of the two pooled vectors.

    With u and z (d,) the pooled vectors, normalized only if the encoder does so::

        s = -sqrt(sum_k (u_k - z_k)^2)                     in (-inf, 0]

    Symmetric; 0 on identical texts, negative otherwise. Where the encoder returns unit vectors, as the built-in one
    does, s = -sqrt(2 - 2 cosine), which ranks as `cosine`. Otherwise the lengths count, so scores of two models cannot
    be compared. The score is not a sum over pairs of tokens, so it cannot be explained.

    Prefer it for models that were trained on distances, for example by a triplet loss; otherwise use `cosine`.

    Costs d subtractions a pair once the texts are pooled; a search encodes the documents again, since an index stores
    unit vectors.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [3, 0]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[5, 4]], np.float32), np.ones(1, np.float32))
    >>> NegativeEuclidean().score(a, b)
    -5.0

    Source: reimers-gurevych-2019-sbert, section 4.
    """

    name: ClassVar[str] = "negative_euclidean"
    reference: ClassVar[str] = "reimers-gurevych-2019-sbert, sec. 4"
    order: ClassVar[int] = 2
