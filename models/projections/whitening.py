"""Whitening: equal variance in all directions."""

from __future__ import annotations

import numpy as np

from semblance.models.adaptation.affine_map import AffineMap
from semblance.models.embeddings import Doubles
from semblance.models.errors import NotFitted

MIN_VARIANCE = 1e-10  # of the largest variance; below it a direction is rounding noise


class Whitening:
    """Transform to mean 0, variance 1 in every direction, and no correlation.

    With V (n, d) the pooled vectors of n texts, m (d,) their mean, S = (V - m)^T (V - m) / (n - 1) = U L U^T their
    covariance, eigenvalues L in descending order::

        x -> (x - m) U_k L_k^(-1/2)                      U_k (d, k), L_k (k, k): the k largest; k = d by default

    The mapped V has covariance I. Signs are fixed by the largest entry of each column, so that the same texts give the
    same map. It needs more than k texts that differ in at least k directions.

    Departs from the paper in dividing by n - 1 instead of n, which scales all vectors equally. A rank below k is an
    error: dividing by variances that are rounding errors would turn the vectors into noise.

    Prefer it for networks that were not trained for similarity; it seldom helps those that were. Fit it to texts from
    the same distribution as those to compare, at least ten times as many as dimensions.

    >>> V = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    >>> Whitening().fit(V)(V.astype(np.float32))[3].round(3)
    array([0.866, 0.866], dtype=float32)

    Raises:
        NotFitted: there are too few texts, or they differ in too few directions.

    Source: su-etal-2021-whitening, algorithm 1; huang-etal-2021-whiteningbert.
    """

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """Fit the map of (n, d) vectors to `dims` dimensions, or d."""
        n, d = vectors.shape
        k = d if dims is None else dims
        if not 1 <= k <= d:
            raise NotFitted(f"cannot keep {k} of {d} dimensions")
        if n <= k:
            raise NotFitted(f"{n} texts are too few for {k} dimensions; provide more texts or keep fewer dimensions")
        mean = vectors.mean(axis=0)
        centered = vectors - mean
        variances, directions = np.linalg.eigh(centered.T @ centered / (n - 1))
        variances, directions = variances[::-1], directions[:, ::-1]
        rank = int((variances > MIN_VARIANCE * max(variances[0], np.finfo(np.float64).tiny)).sum())
        if rank < k:
            raise NotFitted(
                f"the texts differ in only {rank} directions, not {k}; provide other texts or keep fewer dimensions"
            )
        largest = directions[np.abs(directions).argmax(axis=0), np.arange(d)]
        directions = directions * np.sign(largest)
        return AffineMap(mean, directions[:, :k] / np.sqrt(variances[:k]))
