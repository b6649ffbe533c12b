"""How sure is a figure? Confidence intervals by resampling the items that it was measured on (BCa bootstrap).

A figure is a function of counts: how often each of the n items stands in the sample. So one resample is a row of n
counts, and leaving one item out (the jackknife) is a row of ones with a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.statistics.counts import row_blocks

Statistic: TypeAlias = Callable[[Doubles], Doubles]
"""From counts (b, n) to the figure of each of the b samples (b,); never nan."""

_ELEMENTS = 1 << 21  # of counts at once: 16 MB
_MOST_LEFT_OUT = 5_000  # samples of the jackknife: above as many items, each leaves out a group of them


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: the number of resamples, their seed, and the level.

    The level is the share of such intervals that should hold the true value.

    Raises:
        ValueError: draws below 1, or a level that is not between 0 and 1.
    """

    draws: int = 2_000
    seed: int = 1111
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.draws < 1 or not 0 < self.level < 1:
            raise ValueError(f"a bootstrap needs draws and a level between 0 and 1, not {self.draws} and {self.level}")


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A figure with its confidence interval.

    Attributes:
        estimate: the figure itself, on the items as they are.
        low, high: the ends of the BCa interval: elements of `draws`.
        items: the number of items of each set.
        resampling: how the resamples were drawn, and the level.
        z0: the bias correction; 0 where all draws lie on one side of the estimate.
        acceleration: how fast the standard error changes with the figure; 0 where leaving out an item changes nothing.
        draws: (B,) the figure of each resample, in the order of drawing.
        influence: (n,) what each item adds to the figure, by the jackknife: (n - 1)/n (mean_j theta_(j) - theta_(i)),
            with theta_(i) the figure without item i; all items of all sets, for a mean over sets. Of more than 5,000
            items the i-th group of 5,000 about equal ones stands for item i.
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
        """Whether zero lies outside: for a difference of two systems, whether they differ."""
        return self.low > 0 or self.high < 0


def bca(statistic: Statistic, n: int, resampling: Resampling = Resampling()) -> Interval:
    """The BCa interval (bias-corrected and accelerated) of a figure of n >= 1 items.

    In symbols::

        z0 = PhiInv((#{theta* < theta} + #{theta* = theta} / 2) / B)    theta* the figure of each of B = draws resamples
        a  = sum_i u_i^3 / (6 (sum_i u_i^2)^(3/2))     u_i the influence of item i, by the jackknife
        alpha' = Phi(z0 + (z0 + z_alpha) / (1 - a (z0 + z_alpha)))     alpha = (1 - level)/2 and 1 - (1 - level)/2

    Its ends are the sorted theta* at positions round((B - 1) alpha'), counted from 0, halves to the even one, without
    interpolation. Resamples are drawn by `np.random.RandomState(seed)`, n items with replacement each, one after the
    other, so figures can be repeated elsewhere.

    The paper's code counts draws below the estimate only. Where many draws equal it, as of a share of few answers, that
    tilts the interval, and a difference could be significant one way round and not the other; so half of those count.

    With z0 = a = 0 this is the percentile interval. Where z0 would be infinite, as no draw or every draw lies below
    the estimate, z0 and a are taken as 0; so where all draws are equal, as with n = 1, the interval is that one point.

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
    """The BCa interval of the mean of k figures, each measured on a set of its own (an average over benchmarks).

    The sets are resampled independently of each other: the b-th draw of the mean is the mean of one draw of each set.
    The draws of each set are put in an order of its own first, as sets that were resampled from one seed are not
    independent else. With u_si the influence of item i of set s on the figure of that set, and w_s the set's share
    (1/k unless `shares` says otherwise), the item's influence on the mean is w_s u_si, and z0, a and the ends follow as
    in `bca`, with a over all items of all sets: the formula for several samples (in terms of l_si = n_s w_s u_si,
    a = 1/6 sum_si (l_si/n_s)^3 / (sum_si (l_si/n_s)^2)^(3/2)).

    Raises:
        ValueError: no intervals, or they differ in how they were resampled.

    Source: diciccio-efron-1996-bootstrap, section 2; the sum over samples as in Davison and Hinkley,
    davison-hinkley-1997-bootstrap, section 5.3.
    """
    if len({each.resampling for each in intervals}) != 1:
        raise ValueError("a mean needs intervals, all resampled in the same way")
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
    """How much better the system is than the baseline on the same items: a paired difference.

    Both were drawn from one seed, so the b-th draws are of the same resample, and their difference is the draw of the
    difference; likewise the influences.

    Raises:
        ValueError: the intervals are not of the same items, resampled in the same way.
    """
    drawn, other = ((each.items, each.resampling) for each in (system, baseline))
    if drawn != other:
        raise ValueError(f"a paired difference needs the same resamples, not {drawn} and {other}")
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
    apart = 1e-12 * max(1.0, abs(estimate))  # draws that rounding alone keeps from the estimate are equal to it
    below = float(np.mean(draws < estimate - apart) + np.mean(draws <= estimate + apart)) / 2
    z0, acceleration = (float(ndtri(below)), _acceleration(influence)) if 0 < below < 1 else (0.0, 0.0)
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

    return np.concatenate([of_rows(part.stop - part.start) for part in row_blocks(resampling.draws, n, _ELEMENTS)])


def _influence(statistic: Statistic, n: int) -> Doubles:
    if n == 1:
        return np.zeros(1)  # nothing is left without the only item

    groups = min(n, _MOST_LEFT_OUT)
    group = np.arange(n) % groups

    def without(part: slice) -> Doubles:
        return statistic((group != np.arange(part.start, part.stop)[:, None]).astype(np.float64))

    left_out = np.concatenate([without(part) for part in row_blocks(groups, n, _ELEMENTS)])
    influence: Doubles = (left_out.mean() - left_out) * ((groups - 1) / groups)
    return influence


def _acceleration(influence: Doubles) -> float:
    largest = np.abs(influence).max()
    if largest == 0:
        return 0.0
    relative = influence / largest  # cubes of small numbers vanish
    return float((relative**3).sum() / (6 * (relative**2).sum() ** 1.5))


def _alphas(z0: float, acceleration: float, level: float) -> tuple[float, float]:
    def moved(alpha: float) -> float:
        shifted = z0 + float(ndtri(alpha))
        stretch = 1 - acceleration * shifted
        # |a| is below 1/6, so only at extreme levels does the stretch reach 0, from where the end is that of the draws
        return float(ndtr(z0 + shifted / stretch)) if stretch > 0 else float(shifted > 0)

    return moved((1 - level) / 2), moved(1 - (1 - level) / 2)
