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

_METRICS: Mapping[type, Callable[[Any, Scorer, Sequence[str]], Mapping[str, TaskMetrics]]] = {
    GradedPairs: graded_pair_metrics,
    LabeledPairs: labeled_pair_metrics,
    Triplets: triplet_metrics,
    Rankings: ranking_metrics,
    Retrieval: retrieval_metrics,
    ChunkAlignment: chunk_alignment_metrics,
    WordAlignment: word_alignment_metrics,
    Deletion: deletion_metrics,
}


def compute_metrics(task: Task, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Measure -> its metrics on the task; measures that do not support the task are left out."""
    return _METRICS[type(task)](task, scorer, measures)
