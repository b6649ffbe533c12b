"""Triplets: is the positive nearer to the anchor than the negative?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged, mean_value
from semblance.models.evaluation.tasks import Triplets


def judge(task: Triplets, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Accuracy: the share of triplets whose positive scores higher than the negative; a tie is wrong."""
    n = len(task.anchors)
    found = scorer.scores(measures, [*task.anchors, *task.anchors], [*task.positives, *task.negatives])
    return {
        name: Judged("triplets", n, (mean_value("accuracy", (scores[:n] > scores[n:]).astype(float).tolist()),))
        for name, scores in found.items()
    }
