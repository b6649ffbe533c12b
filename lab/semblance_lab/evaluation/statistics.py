"""Statistics of evaluations: correlations, rankings, and classification by score.

A resample is a row of counts, not a copy of the data: `counts` (b, n) is the number of times each of the n pairs is in
each of b samples; without it, every pair is in once. A pair is predicted to match if its score is at least the
threshold, so equal scores get equal predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import by_row_blocks, ratio
from semblance.models.text import Booleans


def pearson(x: Doubles, y: Doubles, counts: Doubles | None = None) -> Doubles:
    """Pearson's r of b samples of n pairs.

    With c_i the count of pair i in a sample, and mx and my the means of that sample::

        r = sum_i c_i (x_i - mx)(y_i - my) / sqrt(sum_i c_i (x_i - mx)^2 * sum_i c_i (y_i - my)^2)      in [-1, 1]

    0 if either side is constant in the sample, or the sample is empty: a constant side predicts nothing, and nan would
    make every mean over samples nan.

    Args:
        x: (n,) finite values.
        y: (n,) finite values.
        counts: (b, n) >= 0; None for each pair once.

    Returns:
        (b,) the correlation of each sample; (1,) without counts.

    Raises:
        ValueError: a value is not finite.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]))
    array([0.5])
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("Pearson's r needs finite values")
    left, right = _scaled(x), _scaled(y)

    def of_rows(rows: Doubles) -> Doubles:
        # relative to a member of the sample, a constant side is exactly zero
        first = (rows > 0).argmax(axis=1)
        return _correlation(rows, left - left[first][:, None], right - right[first][:, None])

    return by_row_blocks(of_rows, counts, len(x))


def spearman(x: Doubles, y: Doubles, counts: Doubles | None = None) -> Doubles:
    """Spearman's rho of b samples of n pairs: Pearson's r of ranks, with average ranks for ties.

    The ranks are those within the sample: with N_< and N_= the numbers of smaller and of equal values in the sample,
    the rank of a value is N_< + (N_= + 1) / 2. Arguments and result as in `pearson`, but values may be infinite (not
    nan); 0 if either side is constant in the sample.

    >>> spearman(np.array([0.1, 0.4, 0.4, 0.9, 0.7]), np.array([0.0, 2.0, 3.0, 5.0, 3.0])).round(6)
    array([0.921053])
    """
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("nan has no rank")
    ranks_left, ranks_right = _ranks_within(x), _ranks_within(y)

    def of_rows(rows: Doubles) -> Doubles:
        middle = (rows.sum(axis=1, keepdims=True) + 1) / 2  # the mean rank; all of this is exact in floats
        return _correlation(rows, ranks_left(rows) - middle, ranks_right(rows) - middle)

    return by_row_blocks(of_rows, counts, len(x))


def _ranks_within(values: Doubles) -> Callable[[Doubles], Doubles]:
    """From counts (r, n) to the average ranks (r, n) of the values in each of the r samples."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    last = np.cumsum(sizes) - 1

    def ranks(rows: Doubles) -> Doubles:
        up_to = np.cumsum(rows[:, order], axis=1)[:, last]
        equal = np.diff(up_to, axis=1, prepend=0.0)
        of_groups: Doubles = up_to - (equal - 1) / 2
        return np.take(of_groups, group, axis=1)

    return ranks


def _correlation(counts: Doubles, dx: Doubles, dy: Doubles) -> Doubles:
    """(r,) the correlation of each row; dx and dy (r, n) are relative to any origin of the row."""
    total = np.maximum(counts.sum(axis=1), 1e-300)
    cx, cy = counts * dx, counts * dy
    sum_x, sum_y = cx.sum(axis=1), cy.sum(axis=1)
    spread_x = np.einsum("ij,ij->i", cx, dx) - sum_x**2 / total
    spread_y = np.einsum("ij,ij->i", cy, dy) - sum_y**2 / total
    covariance = np.einsum("ij,ij->i", cx, dy) - sum_x * sum_y / total
    scale = np.sqrt(np.maximum(spread_x, 0.0)) * np.sqrt(np.maximum(spread_y, 0.0))
    return np.clip(ratio(covariance, scale), -1.0, 1.0)  # rounding must not push a correlation out of its bounds


def _scaled(values: Doubles) -> Doubles:
    largest = np.abs(values).max(initial=0.0)
    scaled: Doubles = values / largest if largest > 0 else values
    return scaled


D = TypeVar("D", bound=Hashable)  # a document id


def ndcg(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
    """Normalized discounted cumulative gain of the first k of a ranking, with linear gain.

    With r_i the relevance of the document at rank i (0 if it was not judged) and r*_i that of the ideal ranking of all
    judged documents::

        DCG = sum_{i=1..k} r_i / log2(i + 1)        nDCG = DCG / DCG*      in [0, 1]

    1 if the k most relevant come first in order; 0 if none of the first k is relevant, or no document is.

    >>> round(ndcg(["a", "b", "c"], {"a": 2, "c": 1}, k=3), 6)
    0.950234

    Source: jarvelin-kekalainen-2002-ndcg.
    """
    ideal = _dcg(sorted((grade for grade in relevance.values() if grade > 0), reverse=True)[:k])
    gained = _dcg([max(0.0, relevance.get(doc_id, 0.0)) for doc_id in ranking[:k]])
    return gained / ideal if ideal > 0 else 0.0


def recall(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
    """The share of all relevant documents (relevance above 0) among the first k of a ranking.

    >>> recall(["a", "b", "c"], {"a": 2, "d": 1}, k=3)
    0.5
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else 0.0


def average_precision(ranking: Sequence[D], relevance: Mapping[D, float]) -> float:
    """The mean of the precision at the rank of each relevant document (relevance above 0).

    1 if all relevant documents come first; a relevant document that is not in the ranking counts 0; 0 if no document is
    relevant. The mean over queries is known as MAP.

    >>> round(average_precision(["a", "b", "c", "d"], {"a": 1, "c": 1}), 6)
    0.833333
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    ranks = [rank for rank, doc_id in enumerate(ranking, 1) if doc_id in relevant]
    return math.fsum(count / rank for count, rank in enumerate(ranks, 1)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[D], relevance: Mapping[D, float], k: int | None = None) -> float:
    """One over the rank of the first relevant document among the first k; 0 if there is none.

    Without k, all ranks count. The mean over queries is known as MRR.

    >>> reciprocal_rank(["a", "b", "c"], {"b": 1, "c": 2})
    0.5
    """
    ranks = (rank for rank, doc_id in enumerate(ranking[:k], 1) if relevance.get(doc_id, 0.0) > 0)
    return 1 / next(ranks, math.inf)


def ndcg_of_scores(scores: Doubles, relevance: Doubles, k: int | None = None) -> float:
    """nDCG of c candidates ranked by score, averaged over all orders of equal scores.

    As `ndcg`, but candidates with equal scores get their mean relevance, so that the input order cannot matter. If all
    scores are equal, this is the expected nDCG of a random ranking.

    Args:
        scores: (c,) the higher the better.
        relevance: (c,) the gain of each candidate, counted as 0 below 0.
        k: ranks that count; None for all.

    >>> round(ndcg_of_scores(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])), 6)
    0.95986

    Source: jarvelin-kekalainen-2002-ndcg; for ties mcsherry-najork-2008-ties, section 2.
    """
    gains = np.maximum(relevance, 0.0)
    discounts = 1 / np.log2(np.arange(len(gains))[:k] + 2.0)
    ideal = float(np.sort(gains)[::-1][:k] @ discounts)
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(group, weights=gains) / sizes
    gained = float(np.repeat(mean_gain, sizes)[:k] @ discounts)
    return gained / ideal if ideal > 0 else 0.0


def _dcg(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


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

    `best` is the index of the threshold with the highest F1; of several, the highest threshold. `taken` pairs (t,)
    score a threshold or more, and `matching` of them (t,) match.
    """

    thresholds: Doubles
    taken: Doubles
    matching: Doubles
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
    taken = matching + others
    precision = ratio(matching, taken)
    recall = ratio(matching, np.full_like(matching, matching[-1]))
    f1 = ratio(2 * matching, taken + matching[-1])
    return ThresholdCurve(np.unique(scores)[::-1], taken, matching, precision, recall, f1, int(f1.argmax()))


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
