"""Metrics of scores: graded and labeled pairs, triplets, rankings and retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import Metric, Sample, mean_value
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.results import PartFigures, TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.statistics import (
    average_precision,
    ndcg,
    ndcg_of_scores,
    pearson,
    pr_auc,
    recall,
    reciprocal_rank,
    roc_auc,
    spearman,
)
from semblance_lab.evaluation.tasks import Rankings, Retrieval, Triplets

CORRELATIONS: Mapping[str, Callable[..., Doubles]] = {"spearman": spearman, "pearson": pearson}


def graded_pair_metrics(task: GradedPairs, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Spearman's and Pearson's correlation, by each of the protocols that the papers use.

    ::

        spearman         over all pairs of the set at once ("all": CLRCMD, SBERT)
        spearman_mean    the unweighted mean over the subtasks ("mean": DynaMax, with Pearson's)
        spearman_wmean   their mean weighted by size ("wmean": SemEval)

    The last two only where a set has several subtasks. Where pairs are in groups, whole groups are resampled.
    """
    scores = scorer.scores(measures, task.left, task.right)
    return {name: correlations(task, score) for name, score in scores.items()}


def correlations(task: GradedPairs, scores: Doubles) -> TaskMetrics:
    """The metrics of one measure's (n,) scores."""
    gold, parts = np.asarray(task.gold, np.float64), _rows_by_part(task)
    groups = None if task.groups is None else len(set(task.groups))

    def sample(of: Callable[..., Doubles], rows: Sequence[int]) -> Sample:
        items = Sample(len(rows), partial(of, scores[rows], gold[rows]))
        return items if task.groups is None else items.by_groups(_numbered([task.groups[row] for row in rows]))

    metrics = [Metric(name, (sample(of, range(len(gold))),)) for name, of in CORRELATIONS.items()]
    if len(parts) == 1:
        return TaskMetrics("graded pairs", len(gold), tuple(metrics), groups=groups)
    for name, of in CORRELATIONS.items():
        samples = tuple(sample(of, rows) for rows in parts.values())
        metrics.append(Metric(f"{name}_mean", samples, (1 / len(parts),) * len(parts)))
        metrics.append(Metric(f"{name}_wmean", samples, tuple(len(rows) / len(gold) for rows in parts.values())))
    figures = {
        part: PartFigures(
            len(rows), {name: float(of(scores[rows], gold[rows])[0]) for name, of in CORRELATIONS.items()}
        )
        for part, rows in parts.items()
    }
    return TaskMetrics("graded pairs", len(gold), tuple(metrics), figures, groups=groups)


def labeled_pair_metrics(task: LabeledPairs, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Average precision over all pairs, and the area under the ROC curve."""
    n, matches = len(task.matches), np.asarray(task.matches, np.bool_)
    return {
        name: TaskMetrics(
            "labelled pairs",
            n,
            (
                Metric.of("average_precision", n, pr_auc, scores, matches),
                Metric.of("roc_auc", n, roc_auc, scores, matches),
            ),
        )
        for name, scores in scorer.scores(measures, task.left, task.right).items()
    }


def triplet_metrics(task: Triplets, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Accuracy: share of triplets with a higher score of the positive; ties are wrong."""
    n = len(task.anchors)
    scores = scorer.scores(measures, [*task.anchors, *task.anchors], [*task.positives, *task.negatives])
    return {
        name: TaskMetrics("triplets", n, (mean_value("accuracy", (score[:n] > score[n:]).astype(float).tolist()),))
        for name, score in scores.items()
    }


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """The number of each name, in the order of first occurrence."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def _rows_by_part(task: GradedPairs) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {}
    for row, part in enumerate(task.subtasks):
        parts.setdefault(part, []).append(row)
    return parts


DEPTH = 100  # documents of each ranking that are evaluated


def ranking_metrics(task: Rankings, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """nDCG over all candidates of a query, average precision, and reciprocal rank.

    For equal scores nDCG is the mean over all orders; the other two rank relevant candidates last.
    """
    lengths = [len(candidates) for candidates in task.candidates]
    left = [query for query, length in zip(task.queries, lengths, strict=True) for _ in range(length)]
    right = [text for candidates in task.candidates for text in candidates]
    scores = scorer.scores(measures, left, right)
    return {name: _of_candidates(task, np.split(score, np.cumsum(lengths)[:-1])) for name, score in scores.items()}


def retrieval_metrics(task: Retrieval, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """nDCG@10 with linear gain, recall@5, @10 and @100, and reciprocal rank."""
    rankings = scorer.search(measures, task, DEPTH)
    return {name: _of_documents(task, ranking) for name, ranking in rankings.items()}


def _of_candidates(task: Rankings, scores: Sequence[Doubles]) -> TaskMetrics:
    relevance = [np.asarray(each, np.float64) for each in task.relevance]
    graded = [dict(enumerate(each)) for each in task.relevance]
    orders = [np.lexsort((grades, -score)).tolist() for score, grades in zip(scores, relevance, strict=True)]
    metrics = (
        mean_value("ndcg", [ndcg_of_scores(*pair) for pair in zip(scores, relevance, strict=True)]),
        mean_value("map", [average_precision(*pair) for pair in zip(orders, graded, strict=True)]),
        mean_value("mrr", [reciprocal_rank(*pair) for pair in zip(orders, graded, strict=True)]),
    )
    return TaskMetrics("rankings", len(task.queries), metrics)


def _of_documents(task: Retrieval, rankings: Mapping[str, Sequence[str]]) -> TaskMetrics:
    pairs = [(rankings[query_id], task.relevance[query_id]) for query_id in task.queries]
    metrics = (
        mean_value("ndcg@10", [ndcg(ranking, relevance, 10) for ranking, relevance in pairs]),
        *(
            mean_value(f"recall@{k}", [recall(ranking, relevance, k) for ranking, relevance in pairs])
            for k in (5, 10, DEPTH)
        ),
        mean_value("mrr", [reciprocal_rank(ranking, relevance) for ranking, relevance in pairs]),
    )
    return TaskMetrics("retrieval", len(pairs), metrics)
