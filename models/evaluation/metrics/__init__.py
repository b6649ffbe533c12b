"""How each kind of task is judged: one file a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from semblance.models.evaluation.metrics import (
    chunk_alignment,
    deletion,
    graded_pairs,
    labelled_pairs,
    rankings,
    retrieval,
    triplets,
)
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged
from semblance.models.evaluation.tasks import (
    ChunkAlignment,
    Deletion,
    GradedPairs,
    LabelledPairs,
    Rankings,
    Retrieval,
    Task,
    Triplets,
)

_KINDS: Mapping[type, Callable[[Any, Scorer, Sequence[str]], Mapping[str, Judged]]] = {
    GradedPairs: graded_pairs.judge,
    LabelledPairs: labelled_pairs.judge,
    Triplets: triplets.judge,
    Rankings: rankings.judge,
    Retrieval: retrieval.judge,
    ChunkAlignment: chunk_alignment.judge,
    Deletion: deletion.judge,
}


def judge(task: Task, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Measure -> what it came to; without those measures that the task cannot be put to."""
    return _KINDS[type(task)](task, scorer, measures)
