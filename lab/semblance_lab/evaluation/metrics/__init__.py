"""The metrics of each type of task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.metrics.chunk_alignment import chunk_alignment_metrics
from semblance_lab.evaluation.metrics.deletion import deletion_metrics
from semblance_lab.evaluation.metrics.scores import (
    graded_pair_metrics,
    labeled_pair_metrics,
    ranking_metrics,
    retrieval_metrics,
    triplet_metrics,
)
from semblance_lab.evaluation.metrics.word_alignment import word_alignment_metrics
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import ChunkAlignment, Deletion, Rankings, Retrieval, Task, Triplets, WordAlignment

_METRICS: Mapping[type, tuple[str, Callable[[Any, Scorer, Sequence[str]], Mapping[str, TaskMetrics]]]] = {
    GradedPairs: ("spearman", graded_pair_metrics),
    LabeledPairs: ("average_precision", labeled_pair_metrics),
    Triplets: ("accuracy", triplet_metrics),
    Rankings: ("ndcg", ranking_metrics),
    Retrieval: ("ndcg@10", retrieval_metrics),
    ChunkAlignment: ("alignment_f1", chunk_alignment_metrics),
    WordAlignment: ("alignment_f1", word_alignment_metrics),
    Deletion: ("deletion", deletion_metrics),
}
"""Type of task -> name of its main metric, and what computes all of them, this one first."""


def compute_metrics(task: Task, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Measure -> its metrics on the task; measures that do not support the task are left out."""
    return _METRICS[type(task)][1](task, scorer, measures)


def main_metric(task: Task) -> str:
    """Name of the metric that comes first."""
    return _METRICS[type(task)][0]
