"""Confidence intervals of figures by resampling the measured items (BCa bootstrap).

A figure is a function of counts: how often each of the n items is in the sample. So one resample is a row of n counts,
and leaving one item out (the jackknife) is a row of ones with a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import Statistic, row_blocks

_ELEMENTS = 1 << 21  # counts in a block: 16 MB
_NORMAL = NormalDist()
_JACKKNIFE_SAMPLES = 5_000  # with more items, each sample leaves out a group of them


@dataclass(frozen=True, slots=True)
class Resampling:
    """Settings of intervals: the number of resamples, their seed, and the level.

    The level is the share of such intervals that should contain the true value.

    Raises:
        ValueError: draws below 1, or a level not between 0 and 1.
    """

    draws: int = 2_000
    seed: int = 1111
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.draws < 1 or not 0 < self.level < 1:
            raise ValueError(
                f"a bootstrap needs at least 1 draw and a level between 0 and 1, not {self.draws} and {self.level}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A figure with its confidence interval.

    Attributes:
        estimate: the figure itself, with each item once.
        low, high: the ends of the BCa interval: elements of `draws`.
        items: the number of items of each set.
        resampling: the settings of the interval.
        z0: the bias correction; 0 if all draws lie on one side of the estimate.
        acceleration: how fast the standard error changes with the figure; 0 if leaving out an item changes nothing.
        draws: (B,) the figure of each resample, in the order of drawing.
        influence: (n,) effect of each item on the figure, by the jackknife: (n - 1)/n (mean_j theta_(j) - theta_(i)),
            with theta_(i) the figure without item i; all items of all sets, for a mean over sets. With more than 5,000
            items, entry i is that of the i-th of 5,000 groups of about equal size.
    """

    estimate: float
    low: float
    high: float
    items: tuple[int, ...]
    resampling: Resampling
    z0: float
    acceleration: float
    draws: Doubles
    influence: Doubles

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero: for a difference of two systems, whether they differ."""
        return self.low > 0 or self.high < 0


def bca(statistic: Statistic, n: int, resampling: Resampling = Resampling()) -> Interval:
    """The BCa interval (bias-corrected and accelerated) of a figure of n >= 1 items.

    In symbols::

        z0 = PhiInv((#{theta* < theta} + #{theta* = theta} / 2) / B)    theta* the figure of each of B = draws resamples
        a  = sum_i u_i^3 / (6 (sum_i u_i^2)^(3/2))     u_i the influence of item i, by the jackknife
        alpha' = Phi(z0 + (z0 + z_alpha) / (1 - a (z0 + z_alpha)))     alpha = (1 - level)/2 and 1 - (1 - level)/2

    Its ends are the sorted theta* at positions round((B - 1) alpha'), counted from 0, halves to the even one, without
    interpolation. Resamples are drawn by `np.random.RandomState(seed)`, n items with replacement each, in sequence, so
    figures can be reproduced elsewhere.

    The paper's code counts draws below the estimate only. If many draws equal it, as for a share of few answers, that
    shifts the interval, and swapping two systems could change the significance of their difference; so half of the
    equal draws count.

    With z0 = a = 0 this is the percentile interval. If z0 would be infinite, because no draw or every draw lies below
    the estimate, z0 and a are set to 0; so if all draws are equal, as with n = 1, the interval is that one point.

    Raises:
        ValueError: n below 1.

    Source: diciccio-efron-1996-bootstrap, section 2; efron-1987-bca.
    """
    if n < 1:
        raise ValueError(f"a bootstrap needs items, not {n}")
    estimate = float(statistic(np.ones((1, n)))[0])
    drawn = _resampled(statistic, n, resampling)
    return _interval(estimate, drawn, _influence(statistic, n), (n,), resampling)


def bca_mean(intervals: Sequence[Interval], shares: Sequence[float] | None = None) -> Interval:
    """The BCa interval of the mean of k figures of different sets (an average over benchmarks).

    The sets are resampled independently of each other: the b-th draw of the mean is the mean of one draw of each set.
    The draws of each set are permuted first, because sets that were resampled from one seed are not independent. With
    u_si the influence of item i of set s on the figure of that set, and w_s the set's share (1/k by default), the
    item's influence on the mean is w_s u_si, and z0, a and the ends follow as in `bca`, with a over all items of all
    sets: the formula for several samples (in terms of l_si = n_s w_s u_si, a = 1/6 sum_si (l_si/n_s)^3 /
    (sum_si (l_si/n_s)^2)^(3/2)).

    Raises:
        ValueError: no intervals, or their resampling settings differ.

    Source: diciccio-efron-1996-bootstrap, section 2; the sum over samples as in Davison and Hinkley,
    davison-hinkley-1997-bootstrap, section 5.3.
    """
    if len({interval.resampling for interval in intervals}) != 1:
        raise ValueError("a mean needs intervals, all with the same resampling settings")
    weights = np.full(len(intervals), 1 / len(intervals)) if shares is None else np.asarray(shares, np.float64)
    random = np.random.RandomState(intervals[0].resampling.seed)
    return _interval(
        float(weights @ [each.estimate for each in intervals]),
        weights @ np.stack([random.permutation(each.draws) for each in intervals]),
        np.concatenate([share * each.influence for share, each in zip(weights, intervals, strict=True)]),
        tuple(n for each in intervals for n in each.items),
        intervals[0].resampling,
    )


def difference(system: Interval, baseline: Interval) -> Interval:
    """The paired difference of system and baseline, measured on the same items.

    Both were drawn with one seed, so the b-th draws are of the same resample, and their difference is the draw of the
    difference; likewise for the influences.

    Raises:
        ValueError: the intervals differ in their items or resampling settings.
    """
    own, other = ((each.items, each.resampling) for each in (system, baseline))
    if own != other:
        raise ValueError(f"a paired difference needs the same resamples, not {own} and {other}")
    return _interval(
        system.estimate - baseline.estimate,
        system.draws - baseline.draws,
        system.influence - baseline.influence,
        system.items,
        system.resampling,
    )


def _interval(
    estimate: float, draws: Doubles, influence: Doubles, items: tuple[int, ...], resampling: Resampling
) -> Interval:
    rounding = 1e-12 * max(1.0, abs(estimate))  # draws closer than this count as equal to the estimate
    below = float(np.mean(draws < estimate - rounding) + np.mean(draws <= estimate + rounding)) / 2
    z0, acceleration = (_NORMAL.inv_cdf(below), _acceleration(influence)) if 0 < below < 1 else (0.0, 0.0)
    # "nearest" is the position round((B - 1) alpha'), halves to the even one
    low, high = np.quantile(draws, _alphas(z0, acceleration, resampling.level), method="nearest").tolist()
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        items=items,
        resampling=resampling,
        z0=z0,
        acceleration=acceleration,
        draws=draws,
        influence=influence,
    )


def _resampled(statistic: Statistic, n: int, resampling: Resampling) -> Doubles:
    random = np.random.RandomState(resampling.seed)  # frozen by NumPy's policy: the same stream in every version

    def of_rows(rows: int) -> Doubles:
        items = random.randint(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        return statistic(np.bincount(items.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64))

    return np.concatenate([of_rows(block.stop - block.start) for block in row_blocks(resampling.draws, n, _ELEMENTS)])


def _influence(statistic: Statistic, n: int) -> Doubles:
    if n == 1:
        return np.zeros(1)  # the sample without its only item is empty

    groups = min(n, _JACKKNIFE_SAMPLES)
    group = np.arange(n) % groups

    def without(left_out: slice) -> Doubles:
        return statistic((group != np.arange(left_out.start, left_out.stop)[:, None]).astype(np.float64))

    figures = np.concatenate([without(block) for block in row_blocks(groups, n, _ELEMENTS)])
    influence: Doubles = (figures.mean() - figures) * ((groups - 1) / groups)
    return influence


def _acceleration(influence: Doubles) -> float:
    largest = np.abs(influence).max()
    if largest == 0:
        return 0.0
    relative = influence / largest  # avoids underflow: cubes of small numbers vanish
    return float((relative**3).sum() / (6 * (relative**2).sum() ** 1.5))


def _alphas(z0: float, acceleration: float, level: float) -> tuple[float, float]:
    def moved(alpha: float) -> float:
        shifted = z0 + _NORMAL.inv_cdf(alpha)
        stretch = 1 - acceleration * shifted
        # |a| < 1/6, so the stretch reaches 0 only at extreme levels, where the end of the interval is that of the draws
        return _NORMAL.cdf(z0 + shifted / stretch) if stretch > 0 else float(shifted > 0)

    return moved((1 - level) / 2), moved(1 - (1 - level) / 2)
