"""Whitening: equal variance in all directions."""

from __future__ import annotations

import numpy as np

from semblance.models.adaptation.affine_map import AffineMap
from semblance.models.adaptation.principal_axes import principal_axes
from semblance.models.embeddings import Doubles
from semblance.models.errors import NotFitted

MIN_VARIANCE = 1e-10  # of the largest variance; below it a direction is rounding noise


class Whitening:
    """Transform to mean 0, variance 1 in every direction, and no correlation.

    With V (n, d) the pooled vectors of n texts, m (d,) their mean, S = (V - m)^T (V - m) / (n - 1) = U L U^T their
    covariance, eigenvalues L in descending order::

        x -> (x - m) U_k L_k^(-1/2)                      U_k (d, k), L_k (k, k): the k largest; k = r by default

    The mapped V has covariance I. Signs are fixed by the largest entry of each column, so that the same texts give the
    same map.

    The rank r of S, the number of eigenvalues above 1e-10 of the largest, is often below d: a network that ends with a
    layer normalization of weights w and biases b returns tokens with sum_i (x_i - b_i) / w_i = 0, and a dimension with
    w_i = 0 is the same in all of them. Of `minilm`, with d = 384, three weights are 0, so r = 381.

    Departs from the paper in dividing by n - 1 instead of n, which scales all vectors equally, and in keeping r instead
    of d dimensions by default: dividing by variances that are rounding errors would turn the vectors into noise.

    Prefer it for networks that were not trained for similarity; it seldom helps those that were. Fit it to texts from
    the same distribution as those to compare, at least ten times as many as dimensions.

    >>> V = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    >>> Whitening().fit(V)(V.astype(np.float32))[3].round(3)
    array([0.866, 0.866], dtype=float32)

    Raises:
        NotFitted: n <= k, where k is d by default; k > r; or r = 0, because all texts have the same vector.

    Source: su-etal-2021-whitening, algorithm 1; huang-etal-2021-whiteningbert.
    """

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """Fit the map of (n, d) vectors to `dims` dimensions, by default all they differ in."""
        n, d = vectors.shape
        k = d if dims is None else dims
        if not 1 <= k <= d:
            raise NotFitted(f"cannot keep {k} of {d} dimensions; pass --dims from 1 to {d}")
        if n <= k:
            raise NotFitted(
                f"{n} texts are too few for {k} dimensions; provide more texts, or keep fewer dimensions with --dims"
            )
        axes = principal_axes(vectors)
        rank = int((axes.variances > MIN_VARIANCE * max(axes.variances[0], np.finfo(np.float64).tiny)).sum())
        k = _kept(rank, dims)
        return AffineMap(axes.mean, axes.directions[:, :k] / np.sqrt(axes.variances[:k]))


def _kept(rank: int, dims: int | None) -> int:
    """Number of dimensions to keep. Raises NotFitted."""
    if rank == 0:
        raise NotFitted("all texts have the same vector; provide texts that differ")
    if dims is not None and dims > rank:
        raise NotFitted(
            f"the texts differ in only {rank} directions, not {dims}; pass --dims {rank} or fewer, or omit --dims to "
            f"keep all {rank}"
        )
    return rank if dims is None else dims
