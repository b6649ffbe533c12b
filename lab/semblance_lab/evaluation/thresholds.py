"""Classification of matching pairs by score: areas under curves, and precision by threshold.

A pair is predicted to match if its score is at least the threshold, so equal scores get equal predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import by_row_blocks, ratio
from semblance.models.text import Booleans


def pr_auc(scores: Doubles, matches: Booleans, counts: Doubles | None = None) -> Doubles:
    """The area under the precision-recall curve, in steps; also known as average precision.

    With P_t and R_t precision and recall at the t-th highest distinct score, sum_t (R_t - R_{t-1}) P_t, in [0, 1]: the
    precision at each score, weighted by the share of matches that have that score. There is no interpolation, and the
    order of equal scores cannot matter. 0 if no pair of the sample matches.

    Args:
        scores: (n,) higher for more similar pairs; not nan.
        matches: (n,) whether each pair matches.
        counts: (b, n) the number of times each pair is in each of b samples; None for each once.

    Returns:
        (b,) the figure of each sample; (1,) without counts.

    >>> pr_auc(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])).round(6)
    array([0.833333])
    """
    at_scores = _at_scores(scores, matches)

    def of_rows(rows: Doubles) -> Doubles:
        matching, others = at_scores(rows)
        precision = ratio(np.cumsum(matching, axis=1), np.cumsum(matching + others, axis=1))
        return ratio((matching * precision).sum(axis=1), matching.sum(axis=1))

    return by_row_blocks(of_rows, counts, len(scores))


def roc_auc(scores: Doubles, matches: Booleans, counts: Doubles | None = None) -> Doubles:
    """The area under the receiver operating characteristic.

    It is the probability that a matching pair scores higher than another pair; equal scores count one half. Arguments
    and result as in `pr_auc`; 0.5, as for uninformative scores, if a sample has no matches, or only matches.

    >>> roc_auc(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False]))
    array([0.75])
    """
    at_scores = _at_scores(scores, matches)

    def of_rows(rows: Doubles) -> Doubles:
        matching, others = at_scores(rows)
        all_others = others.sum(axis=1)
        below = all_others[:, None] - np.cumsum(others, axis=1)
        won = (matching * (below + others / 2)).sum(axis=1)
        pairs = matching.sum(axis=1) * all_others
        return np.where(pairs > 0, ratio(won, pairs), 0.5)

    return by_row_blocks(of_rows, counts, len(scores))


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """Precision, recall and F1 (t,) at each threshold: t distinct scores, the highest first.

    `best` is the index of the threshold with the highest F1; of several, the highest threshold.
    """

    thresholds: Doubles
    precision: Doubles
    recall: Doubles
    f1: Doubles
    best: int


def threshold_curve(scores: Doubles, matches: Booleans) -> ThresholdCurve:
    """Precision, recall and F1 at every score of n >= 1 pairs; all are 0 without a match.

    >>> found = threshold_curve(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False]))
    >>> found.thresholds, found.f1.round(6), found.best
    (array([0.9, 0.8, 0.7, 0.6]), array([0.666667, 0.5     , 0.8     , 0.666667]), 2)
    """
    ones = np.ones((1, len(scores)))
    (matching,), (others,) = (np.cumsum(each, axis=1) for each in _at_scores(scores, matches)(ones))
    precision = ratio(matching, matching + others)
    recall = ratio(matching, np.full_like(matching, matching[-1]))
    f1 = ratio(2 * matching, matching + others + matching[-1])
    return ThresholdCurve(np.unique(scores)[::-1], precision, recall, f1, int(f1.argmax()))


def _at_scores(scores: Doubles, matches: Booleans) -> Callable[[Doubles], tuple[Doubles, Doubles]]:
    """Counts (r, n) -> matching and other pairs at each distinct score (r, t), descending."""
    if np.isnan(scores).any():
        raise ValueError("scores must not be nan")
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    starts = np.flatnonzero(np.r_[True, descending[1:] != descending[:-1]])
    match = matches[order].astype(np.float64)

    def at_scores(rows: Doubles) -> tuple[Doubles, Doubles]:
        sorted_rows = rows[:, order]
        pairs = np.add.reduceat(sorted_rows, starts, axis=1)
        matching = np.add.reduceat(sorted_rows * match, starts, axis=1)
        return matching, pairs - matching

    return at_scores
