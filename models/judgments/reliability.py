"""Reliability of probabilities: does what gets 80 % match in 80 % of the cases?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles, Integers
from semblance.models.judgments.bootstrap import Resampling, bca
from semblance.models.judgments.centered_isotonic import ProbabilityMap, centered_isotonic
from semblance.models.judgments.counts import by_row_blocks, ratio
from semblance.models.text import Booleans

Scored: TypeAlias = tuple[Doubles, Booleans]
"""(n,) scores of labeled pairs, and whether each pair matches."""

BINS = 10
SPLIT_SEED = 1111


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Predicted and observed shares of matches in bins of about equal size.

    The bins are in the order of their predicted shares.

    Attributes:
        predicted: (k,) the mean probability of the pairs of each bin.
        observed: (k,) the share of matches among them.
        pairs: (k,) their number.
        error: the calibration error, see `calibration_error`.
        interval: where it lies with the confidence of the resampling.
        brier: the mean squared difference of probability and label.
    """

    predicted: Doubles
    observed: Doubles
    pairs: tuple[int, ...]
    error: float
    interval: tuple[float, float]
    brier: float


def reliability(
    probabilities: Doubles, matches: Booleans, resampling: Resampling, parts: Integers | None = None
) -> Reliability:
    """Compare probabilities (n,) with labels (n,), n >= 1, in ten bins of each part.

    `parts` is that of `calibration_error`.

    The interval is that of the resamples, moved by the difference of their mean to the error: resampled pairs repeat,
    so that their bins vary more, which alone makes their errors larger.

    >>> labels = np.array([False, True, True, True])
    >>> found = reliability(np.array([0.2, 0.3, 0.7, 0.8]), labels, Resampling(draws=100))
    >>> found.predicted, found.observed, found.pairs, round(found.error, 6), round(found.brier, 6)
    (array([0.2, 0.3, 0.7, 0.8]), array([0., 1., 1., 1.]), (1, 1, 1, 1), 0.35, 0.165)
    """
    bins = _bins(probabilities, parts)
    order, starts = _sorted_bins(bins)
    sizes = np.diff(np.r_[starts, len(order)])
    predicted = np.add.reduceat(probabilities[order], starts) / sizes
    observed = np.add.reduceat(matches[order].astype(np.float64), starts) / sizes
    error = bca(partial(_error, probabilities - matches, bins), len(probabilities), resampling)
    tails = (1 - resampling.level) / 2
    spread = np.quantile(error.draws - error.draws.mean(), [tails, 1 - tails])
    low, high = np.clip(error.estimate + spread, 0, 1).tolist()
    rising = np.argsort(predicted, kind="stable")
    return Reliability(
        predicted=predicted[rising],
        observed=observed[rising],
        pairs=tuple(sizes[rising].tolist()),
        error=error.estimate,
        interval=(low, high),
        brier=float(((probabilities - matches) ** 2).mean()),
    )


def calibration_error(probabilities: Doubles, matches: Booleans, parts: Integers | None = None) -> float:
    """The expected calibration error with bins of equal size, in [0, 1].

    It is 0 for perfect probabilities: the mean over pairs of |mean probability - share of matches| of their bin::

        sum_k |sum_(i in bin k) (p_i - y_i)| / n

    Even perfect probabilities have an error above 0 in a finite sample: about 0.02 with 3,000 pairs.

    Args:
        probabilities: (n,) in [0, 1].
        matches: (n,) the labels.
        parts: (n,) the part of each pair if their probabilities come from several maps, each with bins of its own:
            gaps of one map must not make up for those of another. None for a single map.

    Source: nixon-etal-2019-calibration, section 4 (adaptive calibration error, of two classes).
    """
    return float(_error(probabilities - matches, _bins(probabilities, parts), np.ones((1, len(matches))))[0])


def cross_fitted(scores: Doubles, matches: Booleans) -> tuple[Doubles, Integers]:
    """The probability of each pair by the map fitted to the other half of the pairs.

    So no pair sees its own label. The halves are drawn by a fixed seed.

    Returns:
        (n,) probabilities, and (n,) the half of each pair, 0 or 1, for `calibration_error`.

    Raises:
        ValueError: fewer than two pairs, or a score that is not finite.
    """
    halves = np.random.default_rng(SPLIT_SEED).permutation(len(scores)) % 2
    probabilities = np.empty(len(scores))
    for half in (0, 1):
        own = halves == half
        probabilities[own] = centered_isotonic(scores[~own], matches[~own])(scores[own])
    return probabilities, halves


@dataclass(frozen=True, slots=True)
class MapReliability:
    """A map fitted to one set of labeled pairs, and its reliability on a set.

    `cross_fitted`: the set is its own, and halves of it were tested by maps of the other half.
    """

    fitted_to: str
    tested_on: str
    reliability: Reliability
    cross_fitted: bool


def reliability_of_maps(
    sets: Mapping[str, Scored], resampling: Resampling, stored: Mapping[str, ProbabilityMap] = MappingProxyType({})
) -> Iterator[MapReliability]:
    """Test the map fitted to each set on every set, by cross-fitting on its own.

    The stored maps follow. On the set that one was fitted to, if it is among these, it is tested by cross-fitting too.

    Raises:
        ValueError: a set has fewer than two pairs, or a score that is not finite.
    """
    fitted = {name: centered_isotonic(*scored) for name, scored in sets.items()}
    for fitted_to, each in {**fitted, **stored}.items():
        for tested_on, (scores, matches) in sets.items():
            seen = each.equals(fitted[tested_on])
            probabilities, parts = cross_fitted(scores, matches) if seen else (each(scores), None)
            found = reliability(probabilities, matches, resampling, parts)
            yield MapReliability(fitted_to, tested_on, found, cross_fitted=seen)


def error_cell(error: float, interval: tuple[float, float]) -> str:
    """A calibration error with its interval."""
    low, high = interval
    return f"{error:.3f} [{low:.3f}, {high:.3f}]"


def _error(gaps: Doubles, bins: Integers, counts: Doubles) -> Doubles:
    """The calibration error (b,) of samples that contain pair i counts[:, i] times."""
    order, starts = _sorted_bins(bins)

    def of_rows(rows: Doubles) -> Doubles:
        in_bins = np.add.reduceat((rows * gaps)[:, order], starts, axis=1)
        return ratio(np.abs(in_bins).sum(axis=1), rows.sum(axis=1))

    return by_row_blocks(of_rows, counts, len(gaps))


def _bins(probabilities: Doubles, parts: Integers | None) -> Integers:
    """The number of each pair's bin: in each part, ten bins of about equal size, by probability."""
    bins = np.empty(len(probabilities), np.int64)
    for part in [0] if parts is None else np.unique(parts):
        own = np.arange(len(probabilities)) if parts is None else np.flatnonzero(parts == part)
        by_probability = own[np.argsort(probabilities[own], kind="stable")]
        for number, of_bin in enumerate(np.array_split(by_probability, min(BINS, len(own)))):
            bins[of_bin] = part * BINS + number
    return bins


def _sorted_bins(bins: Integers) -> tuple[Integers, Integers]:
    """The pairs in the order of their bins, and where each bin starts in it."""
    order = np.argsort(bins, kind="stable")
    return order, np.unique(bins[order], return_index=True)[1]
