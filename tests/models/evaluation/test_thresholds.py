"""Scores against labels, with scikit-learn on repeated samples as oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.thresholds import pr_auc, roc_auc, threshold_curve
from semblance.models.text import Booleans


@st.composite
def samples(draw: st.DrawFn) -> tuple[Doubles, Booleans, Doubles]:
    n = draw(st.integers(1, 12))
    scores = draw(arrays(np.float64, n, elements=st.sampled_from([-1.0, 0.1, 0.2, 0.5, 0.9, np.inf])))
    matches = draw(arrays(np.bool_, n))
    counts = draw(arrays(np.int64, (draw(st.integers(1, 5)), n), elements=st.integers(0, 3)))
    return scores, matches, counts.astype(np.float64)


@given(samples())
def test_areas_of_counts_equal_scikit_learn_on_the_repeated_sample(
    sample: tuple[Doubles, Booleans, Doubles],
) -> None:
    scores, matches, counts = sample
    precisions, areas = pr_auc(scores, matches, counts), roc_auc(scores, matches, counts)
    for row, precision, area in zip(counts, precisions, areas, strict=True):
        labels, repeated = (np.repeat(side, row.astype(int)) for side in (matches, np.nan_to_num(scores)))
        assert precision == pytest.approx(average_precision_score(labels, repeated) if labels.any() else 0, abs=1e-12)
        assert area == pytest.approx(
            roc_auc_score(labels, repeated) if labels.any() and not labels.all() else 0.5, abs=1e-12
        )


@given(samples())
def test_thresholds_equal_scikit_learn(sample: tuple[Doubles, Booleans, Doubles]) -> None:
    scores, matches = np.nan_to_num(sample[0]), sample[1]
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


def test_without_counts_each_pair_counts_once() -> None:
    rng = np.random.default_rng(0)
    scores, matches = rng.integers(0, 20, 200) / 20, rng.random(200) < 0.3
    assert pr_auc(scores, matches) == pytest.approx([average_precision_score(matches, scores)], abs=1e-12)
    assert roc_auc(scores, matches) == pytest.approx([roc_auc_score(matches, scores)], abs=1e-12)


def test_nan_scores_raise() -> None:
    for figure in (pr_auc, roc_auc, threshold_curve):
        with pytest.raises(ValueError, match="must not be nan"):
            figure(np.array([np.nan, 1.0]), np.array([True, False]))
