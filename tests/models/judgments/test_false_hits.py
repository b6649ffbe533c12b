"""Cuts with a bound on false hits, against exact intervals and simulated pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm

from semblance.models.judgments.false_hits import bounded_cut, pairs_needed

ALLOWED = st.sampled_from([0.01, 0.05, 0.2])


def upper_bound(false_hits: int, different: int) -> float:
    """Upper end of the one-sided 95 % interval of a share (Clopper and Pearson)."""
    return 1.0 if false_hits == different else float(beta.ppf(0.95, false_hits + 1, different - false_hits))


@given(seed=st.integers(0, 10_000), different=st.integers(1, 400), levels=st.integers(2, 400), allowed=ALLOWED)
def test_the_lowest_cut_within_the_exact_bound_is_chosen(
    seed: int, different: int, levels: int, allowed: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, levels, different + 50).astype(np.float64)  # with ties
    matches = np.arange(len(scores)) >= different
    others = scores[~matches]
    fit = [s for s in np.unique(others) if upper_bound(int((others > s).sum()), different) <= allowed]
    found = bounded_cut(scores, matches, allowed)
    if not fit:
        assert found is None
        assert different < pairs_needed(allowed)
    else:
        assert found is not None
        assert found.cut == pytest.approx(min(fit))
        assert found.cut > min(fit)
        assert (found.false_hits, found.different) == ((others > min(fit)).sum(), different)
        assert (found.hits, found.same) == ((scores[matches] > min(fit)).sum(), 50)


def test_the_true_rate_exceeds_the_bound_in_five_percent() -> None:
    rng = np.random.default_rng(1)
    exceeded = []
    for _ in range(1000):
        scores = rng.normal(size=1000)
        cut = bounded_cut(scores, np.zeros(1000, np.bool_), 0.05)
        assert cut is not None
        exceeded.append(norm.sf(cut.cut) > 0.05)
    assert 0.02 < np.mean(exceeded) < 0.07  # 0.05 less what is lost by whole numbers of pairs


@pytest.mark.parametrize("allowed", [0.001, 0.01, 0.05, 0.5])
def test_one_pair_less_than_needed_has_no_cut(allowed: float) -> None:
    needed = pairs_needed(allowed)
    scores = np.arange(1.0, needed + 1)
    assert bounded_cut(scores[1:], np.zeros(needed - 1, np.bool_), allowed) is None
    found = bounded_cut(scores, np.zeros(needed, np.bool_), allowed)
    assert found is not None
    assert found.false_hits == 0


def test_no_cut_lies_below_even_odds() -> None:
    found = bounded_cut(np.full(100, -9.0), np.zeros(100, np.bool_), 0.05)
    assert found is not None
    assert found.cut == 0


def test_equal_texts_labeled_as_different_leave_no_cut() -> None:
    scores = np.concatenate([np.full(10, np.inf), np.full(90, -np.inf)])
    assert bounded_cut(scores, np.zeros(100, np.bool_), 0.05) is None
    found = bounded_cut(scores, np.zeros(100, np.bool_), 0.2)
    assert found is not None
    assert (found.cut, found.false_hits) == (0, 10)
