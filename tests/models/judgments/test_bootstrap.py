"""Confidence intervals: the worked example, SciPy, laws, and coverage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, pearsonr

from semblance.models.embeddings import Doubles
from semblance.models.judgments.bootstrap import Interval, Resampling, _alphas, bca, bca_mean, difference
from semblance.models.judgments.counts import Statistic
from semblance_lab.evaluation.statistics import pearson
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "dynamax_bootstrap.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
GOLD, SYSTEM, BASELINE = (np.array(GOLDEN[name], np.float64) for name in ("gold", "system", "baseline"))


SAME = Resampling(draws=100)


def mean_of(values: Doubles) -> Statistic:
    return lambda counts: counts @ values / counts.sum(axis=1)


def percentile(found: Interval) -> tuple[float, float]:
    """The ends of the plain percentile interval of the same draws, at the level of 0.95."""
    ordered = sorted(found.draws.tolist())
    return ordered[round((len(ordered) - 1) * 0.025)], ordered[round((len(ordered) - 1) * 0.975)]


@pytest.fixture(scope="module")
def worked() -> Interval:
    resampling = Resampling(draws=GOLDEN["draws"])
    system, baseline = (bca(partial(pearson, each, GOLD), len(GOLD), resampling) for each in (SYSTEM, BASELINE))
    return difference(system, baseline)


def test_the_worked_example(worked: Interval) -> None:
    assert worked.estimate == pytest.approx(GOLDEN["difference"], abs=TOLERANCE)
    assert worked.z0 == pytest.approx(GOLDEN["z0"], abs=TOLERANCE)
    assert worked.acceleration == pytest.approx(GOLDEN["acceleration"], abs=TOLERANCE)
    assert _alphas(worked.z0, worked.acceleration, 0.95) == pytest.approx(GOLDEN["alphas"], abs=TOLERANCE)
    assert np.sort(worked.draws)[GOLDEN["ranks"]].tolist() == [worked.low, worked.high]
    assert (worked.low, worked.high) == pytest.approx(GOLDEN["interval"], abs=TOLERANCE)
    assert percentile(worked) == pytest.approx(GOLDEN["percentile_interval"], abs=TOLERANCE)
    assert worked.significant


def test_first_resample_is_determined_by_the_seed() -> None:
    first = bca(lambda counts: counts @ np.arange(12.0), 12, Resampling(draws=1))
    assert first.draws.tolist() == [sum(GOLDEN["first_draw"])]


def test_draws_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance.models.judgments.bootstrap._ELEMENTS", 1000)  # 16 draws in a block
    values = np.random.default_rng(0).integers(0, 1000, 60).astype(np.float64)
    random = np.random.RandomState(7)
    one_by_one = [values[random.randint(60, size=60)].sum() for _ in range(150)]
    assert bca(lambda counts: counts @ values, 60, Resampling(draws=150, seed=7)).draws.tolist() == one_by_one


def correlation(left: Doubles, right: Doubles, axis: int) -> Doubles:
    return np.asarray(pearsonr(left, right, axis=axis)[0])


def mean_of_means(left: Doubles, right: Doubles, axis: int) -> Doubles:
    return np.asarray(left.mean(axis=axis) + right.mean(axis=axis)) / 2


def interval_of(statistic: Callable[..., Doubles], *samples: Doubles) -> Interval:
    if statistic is correlation:
        return bca(partial(pearson, *samples), len(samples[0]), MANY)
    return bca_mean([bca(mean_of(each), len(each), MANY) for each in samples])


MANY = Resampling(draws=20_000)
DRAWN = np.random.default_rng(8)
FEW, MORE, X = DRAWN.exponential(size=25), DRAWN.normal(size=70), DRAWN.normal(size=40)


@pytest.mark.parametrize(
    ("statistic", "samples"),
    [
        (mean_of_means, (FEW, MORE)),
        (mean_of_means, (FEW, FEW.copy())),  # resampled with one seed, but independently
        (correlation, (X, X + DRAWN.normal(size=40))),
    ],
)
def test_intervals_agree_with_scipy(statistic: Callable[..., Doubles], samples: tuple[Doubles, ...]) -> None:
    """Both with many independent draws: ends differ by a few hundredths of the width."""
    ours = interval_of(statistic, *samples)
    theirs = bootstrap(
        samples, statistic, paired=statistic is correlation, n_resamples=20_000, rng=np.random.default_rng(9)
    ).confidence_interval
    assert ours.estimate == pytest.approx(statistic(*samples, axis=0), abs=1e-12)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs), abs=0.04 * (ours.high - ours.low))


def test_acceleration_of_a_mean_has_its_closed_form() -> None:
    """Known in closed form (efron-1987-bca, section 4)."""
    values = np.random.default_rng(2).exponential(size=50)
    deviations = values - values.mean()
    skewness = (deviations**3).mean() / (deviations**2).mean() ** 1.5
    found = bca(mean_of(values), 50, Resampling(draws=100))
    assert found.acceleration == pytest.approx(skewness / 6 / 50**0.5, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.0, 1.0]), min_size=20, max_size=60))
def test_swapping_systems_keeps_the_significance_of_discrete_differences(values: list[float]) -> None:
    """Draws that equal the estimate must not shift the interval."""
    there, back = (bca(mean_of(sign * np.array(values)), len(values), Resampling(draws=1001)) for sign in (1, -1))
    assert there.z0 == pytest.approx(-back.z0, abs=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-12)


def test_jackknife_of_many_items_leaves_out_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The acceleration of a mean is known in closed form; groups of four leave a little noise."""
    values = np.random.default_rng(2).exponential(size=4000)
    exact = bca(mean_of(values), 4000, Resampling(draws=10))
    monkeypatch.setattr("semblance.models.judgments.bootstrap._JACKKNIFE_SAMPLES", 1000)
    grouped = bca(mean_of(values), 4000, Resampling(draws=10))
    assert len(grouped.influence) == 1000
    assert grouped.influence.sum() == pytest.approx(0, abs=1e-12)
    assert grouped.acceleration == pytest.approx(exact.acceleration, rel=0.25)
    assert exact.acceleration > 0.004


@given(
    values=st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=15),
    draws=st.integers(1, 200),
    level=st.floats(0.01, 0.9999999),
)
def test_interval_ends_are_ordered_finite_draws(values: list[float], draws: int, level: float) -> None:
    found = bca(mean_of(np.array(values)), len(values), Resampling(draws=draws, level=level))
    assert found.low in found.draws
    assert found.high in found.draws
    assert found.low <= found.high
    assert np.isfinite([found.estimate, found.z0, found.acceleration]).all()


@pytest.mark.parametrize(
    ("estimate", "draws", "left_out", "ends"),
    [
        (0.0, [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0] * 50, [0.0, 0.0], (-3.0, 3.0)),  # no bias, no acceleration
        (1000.0, list(range(100)), [0.0, 1.0], (2.0, 97.0)),  # beyond all draws
    ],
)
def test_other_figures_have_the_percentile_interval(
    estimate: float, draws: list[float], left_out: list[float], ends: tuple[float, float]
) -> None:
    values = iter([np.array([estimate]), np.array(draws, np.float64), np.array(left_out)])
    found = bca(lambda _: next(values), 2, Resampling(draws=len(draws)))
    assert (found.low, found.high) == percentile(found) == ends


@pytest.mark.parametrize("n", [1, 2, 30])
def test_constant_figures_have_an_interval_of_one_point(n: int) -> None:
    found = bca(lambda counts: np.full(len(counts), 0.25), n, Resampling(draws=100))
    assert (found.estimate, found.low, found.high, found.z0, found.acceleration) == (0.25, 0.25, 0.25, 0.0, 0.0)
    assert found.significant
    assert not bca(lambda counts: np.zeros(len(counts)), n, Resampling(draws=100)).significant


def test_difference_uses_the_same_resamples() -> None:
    one, other = partial(pearson, SYSTEM, GOLD), partial(pearson, BASELINE, GOLD)
    ours = difference(*(bca(each, len(GOLD), Resampling(draws=200)) for each in (one, other)))
    directly = bca(lambda counts: one(counts) - other(counts), len(GOLD), Resampling(draws=200))
    assert ours.draws == pytest.approx(directly.draws, abs=1e-12)
    assert ours.influence == pytest.approx(directly.influence, abs=1e-12)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx((directly.estimate, directly.low, directly.high))


@pytest.mark.parametrize("changes", [{"draws": 99}, {"seed": 2}, {"level": 0.9}])
def test_intervals_of_different_resamples_or_items_are_not_combined(changes: dict[str, Any]) -> None:
    one = bca(mean_of(SYSTEM), 12, SAME)
    other, fewer = bca(mean_of(SYSTEM), 12, replace(SAME, **changes)), bca(mean_of(SYSTEM[:11]), 11, SAME)
    for different in (other, fewer):
        with pytest.raises(ValueError, match="the same resamples"):
            difference(one, different)
    for intervals, message in (([one, other], "same resampling settings"), ([], "needs intervals")):
        with pytest.raises(ValueError, match=message):
            bca_mean(intervals)


def test_weighted_mean_over_sets_uses_the_shares() -> None:
    one, other = (bca(mean_of(each), 12, SAME) for each in (SYSTEM, BASELINE))
    mean = bca_mean([one, other], shares=[0.75, 0.25])
    assert mean.estimate == pytest.approx(0.75 * SYSTEM.mean() + 0.25 * BASELINE.mean(), abs=1e-12)
    assert bca_mean([one, other], shares=[1.0, 0.0]).low == pytest.approx(one.low, abs=1e-12)


@pytest.mark.parametrize(("n", "draws", "level"), [(0, 10, 0.95), (5, 0, 0.95), (5, 10, 1.0), (5, 10, 0.0)])
def test_invalid_resampling_settings_raise(n: int, draws: int, level: float) -> None:
    with pytest.raises(ValueError, match="a bootstrap needs"):
        bca(lambda counts: np.zeros(len(counts)), n, Resampling(draws=draws, level=level))
