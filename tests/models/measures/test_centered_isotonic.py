"""Laws of centered isotonic regression, with scikit-learn's isotonic regression as oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from semblance.models.embeddings import Doubles
from semblance.models.measures.centered_isotonic import centered_isotonic
from semblance.models.text import Booleans


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
