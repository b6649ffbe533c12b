"""Removal of the component that all texts share."""

from __future__ import annotations

import numpy as np

from semblance.models.adaptation.affine_map import AffineMap
from semblance.models.embeddings import Doubles
from semblance.models.errors import NotFitted


class CommonComponentRemoval:
    """Removal of the common component of all texts.

    With V (n, d) the pooled vectors of n texts, not centered, and c (d,) their first right singular vector, |c| = 1::

        x -> x - (x . c) c       that is  x (I - c c^T), with mean 0

    Afterwards no vector has a component along c; the map is idempotent. The sign of c does not matter. It needs at
    least one nonzero vector.

    The paper takes V from the texts that are compared; here it is fitted once, so that a vector does not depend on
    other texts of a request. Prefer it to `whitening` for static vectors and for few texts: it estimates d numbers, not
    d^2.

    >>> V = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    >>> CommonComponentRemoval().fit(V)(V.astype(np.float32))[0].round(4)
    array([ 0.2226, -0.416 ], dtype=float32)

    Raises:
        NotFitted: every vector is zero.

    Source: arora-etal-2017-sif, algorithm 1, the second half.
    """

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """Fit the map to (n, d) vectors; it keeps all d dimensions."""
        if dims is not None and dims != vectors.shape[1]:
            raise NotFitted("common_component_removal keeps all dimensions; omit --dims")
        if not vectors.any():
            raise NotFitted("every vector is zero, so there is no common component")
        _, directions = np.linalg.eigh(vectors.T @ vectors)  # right singular vectors, the largest value last
        common = directions[:, -1]
        size = len(common)
        return AffineMap(np.zeros(size), np.eye(size) - np.outer(common, common))
