"""Whitening: all directions get the same spread."""

from __future__ import annotations

import numpy as np

from semblance.models.adaptation.affine_map import AffineMap
from semblance.models.embeddings import Doubles
from semblance.models.errors import NotFitted

LEAST = 1e-10  # share of the largest variance below which a direction is rounding, and dividing by it noise


class Whitening:
    """The vectors get mean 0, variance 1 in every direction, and no correlation.

    With V (n, d) the pooled vectors of n texts, m (d,) their mean, S = (V - m)^T (V - m) / (n - 1) = U L U^T their
    covariance, eigenvalues L in falling order::

        x -> (x - m) U_k L_k^(-1/2)                      U_k (d, k), L_k (k, k): the k largest; k = d unless given

    The map of V has the covariance I. Signs are fixed by each column's largest entry, so that the same texts give the
    same map. It needs more than k texts that differ in at least k directions.

    Departs from the paper in dividing by n - 1 and not n, which scales all vectors alike. A rank that is too low is
    refused: dividing by variances that are nothing but rounding would make noise of the vectors.

    Prefer it for networks that were not trained for similarity; it seldom helps those that were. Fit it on texts like
    those that will be compared, ten times as many as dimensions or more.

    >>> V = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    >>> Whitening().fit(V)(V.astype(np.float32))[3].round(3)
    array([0.866, 0.866], dtype=float32)

    Raises:
        NotFitted: there are too few texts, or too few directions in them.

    Source: su-etal-2021-whitening, algorithm 1; huang-etal-2021-whiteningbert.
    """

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """The map for (n, d) vectors into `dims` dimensions, or d."""
        n, d = vectors.shape
        k = d if dims is None else dims
        if not 1 <= k <= d:
            raise NotFitted(f"the vectors have {d} dimensions: {k} of them cannot be kept")
        if n <= k:
            raise NotFitted(f"{n} texts are too few for {k} dimensions: give more texts, or keep fewer dimensions")
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        variances, directions = np.linalg.eigh(centred.T @ centred / (n - 1))
        variances, directions = variances[::-1], directions[:, ::-1]
        rank = int((variances > LEAST * max(variances[0], np.finfo(np.float64).tiny)).sum())
        if rank < k:
            raise NotFitted(
                f"the texts differ in {rank} directions only, not {k}: give other texts, or keep fewer dimensions"
            )
        largest = directions[np.abs(directions).argmax(axis=0), np.arange(d)]
        directions = directions * np.sign(largest)
        return AffineMap(mean, directions[:, :k] / np.sqrt(variances[:k]))
