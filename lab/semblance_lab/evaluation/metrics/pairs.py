"""Metrics of graded pairs, labeled pairs and triplets: agreement with human judgments."""

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
from semblance_lab.evaluation.statistics.correlation import pearson, spearman
from semblance_lab.evaluation.tasks import Triplets
from semblance_lab.evaluation.thresholds import pr_auc, roc_auc

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
    return {name: correlations(task, each) for name, each in scores.items()}


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
        name: TaskMetrics("triplets", n, (mean_value("accuracy", (each[:n] > each[n:]).astype(float).tolist()),))
        for name, each in scores.items()
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
