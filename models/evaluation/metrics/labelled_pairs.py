"""Pairs that match or do not: do those that match score higher?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.calibration import pr_auc, roc_auc
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged, Quantity
from semblance.models.evaluation.tasks import LabelledPairs


def judge(task: LabelledPairs, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Average precision over all pairs, and the area under the ROC curve."""
    found = scorer.scores(measures, task.left, task.right)
    return {name: _judged(task, scores) for name, scores in found.items()}


def _judged(task: LabelledPairs, scores: Doubles) -> Judged:
    matches = np.asarray(task.matches, np.bool_)
    figures = {"average_precision": pr_auc, "roc_auc": roc_auc}
    quantities = (Quantity.of(name, len(matches), of, scores, matches) for name, of in figures.items())
    return Judged("labelled pairs", len(matches), tuple(quantities))
