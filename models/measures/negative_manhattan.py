"""Manhattan distance of the pooled vectors, as a similarity."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.pairwise import NegativeDistance


class NegativeManhattan(NegativeDistance):
    """Minus the Manhattan distance of the two pooled vectors.

    With u and z (d,) the pooled vectors, normalized only if the encoder does so::

        s = -sum_k |u_k - z_k|                     in (-inf, 0]

    Symmetric; 0 on identical texts, negative otherwise. Between 1 and sqrt(d) times `negative_euclidean`; it scales
    with the encoder's vectors, so scores of two models cannot be compared. The score is not a sum over pairs of tokens,
    so it cannot be explained.

    Prefer it only to compare with the literature; the paper finds it roughly as good as `cosine`.

    Costs d subtractions a pair once the texts are pooled; a search encodes the documents again, since an index stores
    unit vectors.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[1, 0], [3, 0]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[5, 4]], np.float32), np.ones(1, np.float32))
    >>> NegativeManhattan().score(a, b)
    -7.0

    Source: reimers-gurevych-2019-sbert, section 4.
    """

    name: ClassVar[str] = "negative_manhattan"
    reference: ClassVar[str] = "reimers-gurevych-2019-sbert, sec. 4"
    order: ClassVar[int] = 1
