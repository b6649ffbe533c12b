"""How well do scores tell pairs that match from pairs that do not? Figures from counts, as in `correlation`.

A pair is taken as a match if its score is at least the threshold; equal scores stand and fall together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.statistics.counts import by_row_blocks, share
from semblance.models.text import Booleans


def pr_auc(scores: Doubles, matches: Booleans, counts: Doubles | None = None) -> Doubles:
    """The area under the curve of precision by recall, in steps; also known as the average precision of a classifier.

    With P_t and R_t precision and recall at the t-th highest distinct score, sum_t (R_t - R_{t-1}) P_t, in [0, 1]: the
    precision at each score, weighed by the share of matches that have that score. It does not interpolate, and the
    order of equal scores cannot matter. 0 where nothing matches in the sample.

    Args:
        scores: (n,) the higher, the more alike; not nan.
        matches: (n,) whether each pair matches.
        counts: (b, n) how often each pair stands in each of b samples; None for each once.

    Returns:
        (b,) the figure of each sample; (1,) without counts.

    >>> pr_auc(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])).round(6)
    array([0.833333])
    """
    at_scores = _at_scores(scores, matches)

    def of_rows(rows: Doubles) -> Doubles:
        found, wrong = at_scores(rows)
        precision = share(np.cumsum(found, axis=1), np.cumsum(found + wrong, axis=1))
        return share((found * precision).sum(axis=1), found.sum(axis=1))

    return by_row_blocks(of_rows, counts, len(scores))


def roc_auc(scores: Doubles, matches: Booleans, counts: Doubles | None = None) -> Doubles:
    """How often a pair that matches has a higher score than one that does not; an equal score counts one half.

    The area under the receiver operating characteristic. Arguments and result as in `pr_auc`; 0.5, as for
    scores that say nothing, where a sample has no matches, or only matches.

    >>> roc_auc(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False]))
    array([0.75])
    """
    at_scores = _at_scores(scores, matches)

    def of_rows(rows: Doubles) -> Doubles:
        found, wrong = at_scores(rows)
        all_wrong = wrong.sum(axis=1)
        below = all_wrong[:, None] - np.cumsum(wrong, axis=1)
        won = (found * (below + wrong / 2)).sum(axis=1)
        pairs = found.sum(axis=1) * all_wrong
        return np.where(pairs > 0, share(won, pairs), 0.5)

    return by_row_blocks(of_rows, counts, len(scores))


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """What each threshold gives: t distinct scores, the highest first, with precision, recall and F1 (t,) of each.

    `best` is the position of the threshold with the highest F1, the highest threshold among equals.
    """

    thresholds: Doubles
    precision: Doubles
    recall: Doubles
    f1: Doubles
    best: int


def calibration(scores: Doubles, matches: Booleans) -> Calibration:
    """Precision, recall and F1 at every score of n >= 1 pairs; recall and F1 are 0 if nothing matches.

    >>> found = calibration(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False]))
    >>> found.thresholds, found.f1.round(6), found.best
    (array([0.9, 0.8, 0.7, 0.6]), array([0.666667, 0.5     , 0.8     , 0.666667]), 2)
    """
    (found,), (wrong,) = (np.cumsum(each, axis=1) for each in _at_scores(scores, matches)(np.ones((1, len(scores)))))
    precision = share(found, found + wrong)
    recall = share(found, np.full_like(found, found[-1]))
    f1 = share(2 * found, found + wrong + found[-1])
    return Calibration(np.unique(scores)[::-1], precision, recall, f1, int(f1.argmax()))


def _at_scores(scores: Doubles, matches: Booleans) -> Callable[[Doubles], tuple[Doubles, Doubles]]:
    """From counts (r, n) to how many pairs match and do not match at each distinct score (r, t), highest first."""
    if np.isnan(scores).any():
        raise ValueError("nan is neither above nor below a threshold")
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    starts = np.flatnonzero(np.r_[True, descending[1:] != descending[:-1]])
    match = matches[order].astype(np.float64)

    def at_scores(rows: Doubles) -> tuple[Doubles, Doubles]:
        sorted_rows = rows[:, order]
        pairs = np.add.reduceat(sorted_rows, starts, axis=1)
        found = np.add.reduceat(sorted_rows * match, starts, axis=1)
        return found, pairs - found

    return at_scores
