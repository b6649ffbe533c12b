"""Principal axes of vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalAxes:
    """The directions in which vectors differ most, and how much.

    Attributes:
        mean: (d,) of the vectors.
        variances: (d,) in descending order.
        directions: (d, d), a column of length 1 for each variance.
    """

    mean: Doubles
    variances: Doubles
    directions: Doubles


def principal_axes(vectors: Doubles) -> PrincipalAxes:
    """Find the principal axes of (n, d) vectors, n >= 1.

    With m their mean, S = (V - m)^T (V - m) / (n - 1) = U L U^T: the variances are L, the directions U. The largest
    entry of each direction by absolute value is positive, so that the same vectors give the same axes. A single vector
    has variances of 0.

    >>> axes = principal_axes(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]]))
    >>> axes.variances.round(3), abs(axes.directions.round(3))
    (array([5.333, 1.333]), array([[0., 1.],
           [1., 0.]]))

    Source: jolliffe-2002-pca, section 1.1.
    """
    n, d = vectors.shape
    mean = vectors.mean(axis=0)
    centered = vectors - mean
    variances, directions = np.linalg.eigh(centered.T @ centered / max(n - 1, 1))  # in ascending order
    variances, directions = variances[::-1], directions[:, ::-1]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(d)]
    return PrincipalAxes(mean, np.maximum(variances, 0.0), directions * np.sign(largest))
