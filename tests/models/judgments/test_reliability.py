"""Calibration: errors by sums over bins and by drawn pairs, and the laws of centered isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from semblance.models.embeddings import Doubles
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.centered_isotonic import centered_isotonic
from semblance.models.judgments.reliability import (
    BINS,
    calibration_error,
    cross_fitted,
    reliability,
    reliability_of_maps,
)
from semblance.models.text import Booleans

FEW = Resampling(draws=100)


def drawn(n: int, seed: int = 5) -> tuple[Doubles, Booleans]:
    """Probabilities, and labels drawn by them."""
    random = np.random.default_rng(seed)
    probabilities = random.uniform(size=n)
    return probabilities, random.uniform(size=n) < probabilities


@given(st.data())
def test_errors_are_the_mean_gaps_of_equal_bins(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    probabilities = data.draw(arrays(np.float64, n, elements=st.floats(0, 1), unique=True))
    matches = data.draw(arrays(np.bool_, n))
    bins = np.array_split(np.argsort(probabilities), min(BINS, n))
    expected = sum(abs((probabilities[each] - matches[each]).sum()) for each in bins) / n
    assert calibration_error(probabilities, matches) == pytest.approx(expected)
    found = reliability(probabilities, matches, FEW)
    assert found.error == pytest.approx(expected)
    assert found.pairs == tuple(map(len, bins))
    assert found.predicted == pytest.approx([probabilities[each].mean() for each in bins])
    assert found.observed == pytest.approx([matches[each].mean() for each in bins])
    assert found.brier == pytest.approx(np.mean((probabilities - matches) ** 2))


def test_parts_have_bins_of_their_own() -> None:
    probabilities, matches = drawn(400)
    parts = np.arange(400) % 2
    found = calibration_error(probabilities, matches, parts)
    halves = [calibration_error(probabilities[parts == half], matches[parts == half]) for half in (0, 1)]
    assert found == pytest.approx(np.mean(halves))
    assert found != pytest.approx(calibration_error(probabilities, matches), abs=1e-3)


def test_intervals_contain_the_errors_of_other_samples() -> None:
    samples = [drawn(1_000, seed) for seed in range(40)]
    errors = [calibration_error(0.7 * probabilities, matches) for probabilities, matches in samples]
    truth = 0.3 * 0.5
    intervals = [reliability(0.7 * each, matches, FEW).interval for each, matches in samples]
    assert sum(low <= truth <= high for low, high in intervals) >= 34
    assert all(low <= error <= high for error, (low, high) in zip(errors, intervals, strict=True))


def test_cross_fitting_never_uses_a_pairs_own_label() -> None:
    scores, matches = drawn(60)
    before, halves = cross_fitted(scores, matches)
    assert halves.sum() == 30
    for i in range(60):
        changed = matches.copy()
        changed[i] = not changed[i]
        assert cross_fitted(scores, changed)[0][i] == before[i]
    with pytest.raises(ValueError, match="at least one"):
        cross_fitted(scores[:1], matches[:1])


def test_maps_are_tested_on_every_set() -> None:
    sets = {"a": drawn(200, 1), "b": drawn(300, 2)}
    stored = {"old": centered_isotonic(*drawn(100, 3))}
    found = {(each.fitted_to, each.tested_on): each.reliability for each in reliability_of_maps(sets, FEW, stored)}
    assert set(found) == {(fitted, tested) for fitted in ("a", "b", "old") for tested in ("a", "b")}
    probabilities, halves = cross_fitted(*sets["a"])
    assert found["a", "a"].error == calibration_error(probabilities, sets["a"][1], halves)
    other = centered_isotonic(*sets["a"])(sets["b"][0])
    assert found["a", "b"].error == calibration_error(other, sets["b"][1])
    assert sum(found["old", "b"].pairs) == 300
    [*_, kept, _] = reliability_of_maps(sets, FEW, {"kept": centered_isotonic(*sets["a"])})
    assert (kept.fitted_to, kept.tested_on, kept.reliability.error) == ("kept", "a", found["a", "a"].error)


@st.composite
def labeled_scores(draw: st.DrawFn) -> tuple[Doubles, Booleans]:
    n = draw(st.integers(1, 40))
    scores = draw(arrays(np.float64, n, elements=st.integers(-20, 20).map(lambda each: each / 20)))
    return scores, draw(arrays(np.bool_, n))


@given(labeled_scores())
def test_probabilities_increase_and_exclude_certainty(pairs: tuple[Doubles, Booleans]) -> None:
    fitted = centered_isotonic(*pairs)
    assert (np.diff(fitted.scores) > 0).all()
    assert (np.diff(fitted.probabilities) > 0).all()
    assert 0 < fitted.probabilities[0] <= fitted.probabilities[-1] < 1
    grid = fitted(np.linspace(-2, 2, 401))
    assert (np.diff(grid) >= 0).all()
    assert grid[0] == fitted.probabilities[0]
    assert grid[-1] == fitted.probabilities[-1]


@given(labeled_scores())
def test_blocks_are_those_of_scikit_learn(pairs: tuple[Doubles, Booleans]) -> None:
    scores, matches = pairs
    fitted = centered_isotonic(scores, matches)
    padded, labels = np.r_[scores, scores.min(), scores.max()], np.r_[matches, True, False].astype(float)
    shares = IsotonicRegression().fit(padded, labels).predict(padded)
    for center, probability in zip(fitted.scores, fitted.probabilities, strict=True):
        block = np.isclose(shares, probability, atol=1e-9)
        assert center == pytest.approx(padded[block].mean(), abs=1e-9)
        assert probability == pytest.approx(labels[block].mean(), abs=1e-9)
    assert len(fitted.scores) == len(np.unique(shares.round(9)))


@pytest.mark.parametrize("scores", [np.zeros(0), np.array([0.1, np.nan]), np.array([np.inf])])
def test_scores_that_are_missing_or_not_finite_are_refused(scores: Doubles) -> None:
    with pytest.raises(ValueError, match="finite"):
        centered_isotonic(scores, np.ones(len(scores), np.bool_))
