"""Correlations of scores with gold grades, from counts.

A resample is a row of counts, not a copy of the data: `counts` (b, n) is the number of times each of the n pairs is in
each of b samples; without it, every pair is in once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import by_row_blocks, ratio


def pearson(x: Doubles, y: Doubles, counts: Doubles | None = None) -> Doubles:
    """Pearson's r of b samples of n pairs.

    With c_i the count of pair i in a sample, and mx and my the means of that sample::

        r = sum_i c_i (x_i - mx)(y_i - my) / sqrt(sum_i c_i (x_i - mx)^2 * sum_i c_i (y_i - my)^2)      in [-1, 1]

    0 if either side is constant in the sample, or the sample is empty: a constant side predicts nothing, and nan would
    make every mean over samples nan.

    Args:
        x: (n,) finite values.
        y: (n,) finite values.
        counts: (b, n) >= 0; None for each pair once.

    Returns:
        (b,) the correlation of each sample; (1,) without counts.

    Raises:
        ValueError: a value is not finite.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]))
    array([0.5])
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("Pearson's r needs finite values")
    left, right = _scaled(x), _scaled(y)

    def of_rows(rows: Doubles) -> Doubles:
        # relative to a member of the sample, a constant side is exactly zero
        first = (rows > 0).argmax(axis=1)
        return _correlation(rows, left - left[first][:, None], right - right[first][:, None])

    return by_row_blocks(of_rows, counts, len(x))


def spearman(x: Doubles, y: Doubles, counts: Doubles | None = None) -> Doubles:
    """Spearman's rho of b samples of n pairs: Pearson's r of ranks, with average ranks for ties.

    The ranks are those within the sample: with N_< and N_= the numbers of smaller and of equal values in the sample,
    the rank of a value is N_< + (N_= + 1) / 2. Arguments and result as in `pearson`, but values may be infinite (not
    nan); 0 if either side is constant in the sample.

    >>> spearman(np.array([0.1, 0.4, 0.4, 0.9, 0.7]), np.array([0.0, 2.0, 3.0, 5.0, 3.0])).round(6)
    array([0.921053])
    """
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("nan has no rank")
    ranks_left, ranks_right = _ranks_within(x), _ranks_within(y)

    def of_rows(rows: Doubles) -> Doubles:
        middle = (rows.sum(axis=1, keepdims=True) + 1) / 2  # the mean rank; all of this is exact in floats
        return _correlation(rows, ranks_left(rows) - middle, ranks_right(rows) - middle)

    return by_row_blocks(of_rows, counts, len(x))


def _ranks_within(values: Doubles) -> Callable[[Doubles], Doubles]:
    """From counts (r, n) to the average ranks (r, n) of the values in each of the r samples."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    last = np.cumsum(sizes) - 1

    def ranks(rows: Doubles) -> Doubles:
        up_to = np.cumsum(rows[:, order], axis=1)[:, last]
        equal = np.diff(up_to, axis=1, prepend=0.0)
        of_groups: Doubles = up_to - (equal - 1) / 2
        return np.take(of_groups, group, axis=1)

    return ranks


def _correlation(counts: Doubles, dx: Doubles, dy: Doubles) -> Doubles:
    """(r,) the correlation of each row; dx and dy (r, n) are relative to any origin of the row."""
    total = np.maximum(counts.sum(axis=1), 1e-300)
    cx, cy = counts * dx, counts * dy
    sum_x, sum_y = cx.sum(axis=1), cy.sum(axis=1)
    spread_x = np.einsum("ij,ij->i", cx, dx) - sum_x**2 / total
    spread_y = np.einsum("ij,ij->i", cy, dy) - sum_y**2 / total
    covariance = np.einsum("ij,ij->i", cx, dy) - sum_x * sum_y / total
    scale = np.sqrt(np.maximum(spread_x, 0.0)) * np.sqrt(np.maximum(spread_y, 0.0))
    return np.clip(ratio(covariance, scale), -1.0, 1.0)  # rounding must not push a correlation out of its bounds


def _scaled(values: Doubles) -> Doubles:
    largest = np.abs(values).max(initial=0.0)
    scaled: Doubles = values / largest if largest > 0 else values
    return scaled
