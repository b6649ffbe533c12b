"""Correlations and areas under curves, of samples given by counts, against SciPy and scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from semblance.models.embeddings import Doubles
from semblance.models.text import Booleans
from semblance_lab.evaluation.statistics import pearson, pr_auc, roc_auc, spearman, threshold_curve

GRADES = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(-1e6, 1e6, width=32))
SCORES = st.sampled_from([-1.0, 0.1, 0.2, 0.5, 0.9, np.inf])
SIZES = st.integers(1, 12)


def exact_pearson(x: Doubles, y: Doubles) -> float:
    """Exact fractions, because SciPy warns of nearly constant sides."""
    left, right = ([Fraction(value) for value in side.tolist()] for side in (x, y))
    dx, dy = ([value - sum(side) / len(side) for value in side] for side in (left, right))
    together = sum(a * b for a, b in zip(dx, dy, strict=True))
    squared = together**2 / (sum(a * a for a in dx) * sum(b * b for b in dy))
    return math.copysign(math.sqrt(squared), together)


def unless_constant(oracle: Callable[[Doubles, Doubles], float]) -> Callable[[Doubles, Doubles], float]:
    return lambda x, y: 0.0 if len(set(x)) < 2 or len(set(y)) < 2 else oracle(x, y)


def of_labels(oracle: Callable[[Booleans, Doubles], float], least: int, otherwise: float) -> Callable[..., float]:
    """An oracle that needs this number of different labels, or else a match."""
    return lambda scores, labels: (
        float(oracle(labels, np.nan_to_num(scores))) if labels.any() and len(set(labels)) >= least else otherwise
    )


# figure -> what both sides are drawn from, the oracle and its tolerance
FIGURES: Mapping[Callable[..., Doubles], tuple[Any, Any, Callable[..., float], float]] = {
    spearman: (GRADES, GRADES, unless_constant(lambda x, y: float(spearmanr(x, y)[0])), 1e-12),
    pearson: (GRADES, GRADES, unless_constant(exact_pearson), 1e-9),
    pr_auc: (SCORES, st.booleans(), of_labels(average_precision_score, 1, 0.0), 1e-12),
    roc_auc: (SCORES, st.booleans(), of_labels(roc_auc_score, 2, 0.5), 1e-12),
}


@pytest.mark.parametrize("figure", FIGURES)
@given(n=SIZES, data=st.data())
def test_a_figure_of_counts_is_that_of_the_repeated_sample(
    figure: Callable[..., Doubles], n: int, data: st.DataObject
) -> None:
    """With many ties, and counts that may leave a side constant or the sample empty."""
    *sides, oracle, tolerance = FIGURES[figure]
    x, y = (np.array(data.draw(st.lists(side, min_size=n, max_size=n))) for side in sides)
    counts = data.draw(arrays(np.int64, (data.draw(st.integers(1, 5)), n), elements=st.integers(0, 3)))
    found = figure(x, y, counts.astype(np.float64))
    assert found == pytest.approx([oracle(np.repeat(x, row), np.repeat(y, row)) for row in counts], abs=tolerance)
    assert figure(x, y) == pytest.approx([oracle(x, y)], abs=tolerance)  # each pair once


def test_blocks_of_rows_equal_single_rows() -> None:
    """With more rows than fit into one block."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=400), rng.integers(0, 6, size=400).astype(np.float64)
    counts = rng.integers(0, 3, size=(500, 400)).astype(np.float64)
    for figure in (pearson, spearman):
        alone = np.concatenate([figure(x, y, counts[[row]]) for row in range(500)])
        assert figure(x, y, counts).tolist() == alone.tolist()


def test_huge_and_tiny_values_do_not_overflow() -> None:
    x = np.array([1e300, -1e300, 5e299])
    assert pearson(x, np.array([1e-200, -1e-200, 5e-201])) == pytest.approx([1.0])
    assert spearman(np.array([-np.inf, 0.0, np.inf]), np.array([1.0, 2.0, 3.0])) == pytest.approx([1.0])


@given(n=SIZES, data=st.data())
def test_thresholds_equal_scikit_learn(n: int, data: st.DataObject) -> None:
    scores = np.nan_to_num(data.draw(arrays(np.float64, n, elements=SCORES)))
    matches = data.draw(arrays(np.bool_, n))
    found = threshold_curve(scores, matches)
    if not matches.any():
        assert not found.precision.any()
        assert not found.recall.any()
        assert not found.f1.any()
        return
    precision, recall, thresholds = precision_recall_curve(matches, scores, drop_intermediate=False)
    assert found.thresholds.tolist() == thresholds[::-1].tolist()
    assert found.precision == pytest.approx(precision[-2::-1], abs=1e-12)
    assert found.recall == pytest.approx(recall[-2::-1], abs=1e-12)
    predicted = scores >= found.thresholds[found.best]
    f1 = 2 * (predicted & matches).sum() / (predicted.sum() + matches.sum())
    assert found.f1[found.best] == found.f1.max() == pytest.approx(f1, abs=1e-12)


def test_best_threshold_is_the_highest_of_equals() -> None:
    found = threshold_curve(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, False, True]))
    assert found.f1 == pytest.approx([2 / 3, 1 / 2, 2 / 5, 2 / 3])
    assert (found.best, found.thresholds[found.best]) == (0, 0.9)


@pytest.mark.parametrize(
    ("figure", "value", "message"),
    [
        (pearson, np.nan, "finite"),
        (pearson, np.inf, "finite"),
        (lambda x, y: spearman(y, x), np.nan, "rank"),
        *((figure, np.nan, "must not be nan") for figure in (pr_auc, roc_auc, threshold_curve)),
    ],
)
def test_values_without_order_or_size_raise(figure: Callable[..., object], value: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(np.array([value, 1.0]), np.array([False, True]))
