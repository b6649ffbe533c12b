"""Pairs that people graded: correlation of scores with grades."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.outcomes import Part
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.correlation import pearson, spearman
from semblance.models.evaluation.statistics.quantities import Judged, Quantity, Sample
from semblance.models.evaluation.tasks import GradedPairs

CORRELATIONS: Mapping[str, Callable[..., Doubles]] = {"spearman": spearman, "pearson": pearson}


def judge(task: GradedPairs, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Spearman's and Pearson's correlation, by each of the protocols that the papers use.

    ::

        spearman         over all pairs of the set at once ("all": CLRCMD, SBERT)
        spearman_mean    the plain mean over the subtasks ("mean": DynaMax, with Pearson's)
        spearman_wmean   their mean weighted by size ("wmean": SemEval)

    The last two only where a set has several subtasks. Where pairs are in groups, whole groups are resampled.
    """
    found = scorer.scores(measures, task.left, task.right)
    return {name: judged(task, scores) for name, scores in found.items()}


def judged(task: GradedPairs, scores: Doubles) -> Judged:
    """What one measure's (n,) scores came to."""
    gold, parts = np.asarray(task.gold, np.float64), _parts(task)
    groups = None if task.groups is None else len(set(task.groups))

    def sample(of: Callable[..., Doubles], rows: Sequence[int]) -> Sample:
        alone = Sample(len(rows), partial(of, scores[rows], gold[rows]))
        return alone if task.groups is None else alone.by_groups(_numbered([task.groups[row] for row in rows]))

    quantities = [Quantity(name, (sample(of, range(len(gold))),)) for name, of in CORRELATIONS.items()]
    if len(parts) == 1:
        return Judged("graded pairs", len(gold), tuple(quantities), groups=groups)
    for name, of in CORRELATIONS.items():
        samples = tuple(sample(of, rows) for rows in parts.values())
        quantities.append(Quantity(f"{name}_mean", samples, (1 / len(parts),) * len(parts)))
        quantities.append(Quantity(f"{name}_wmean", samples, tuple(len(rows) / len(gold) for rows in parts.values())))
    figures = {
        part: Part(len(rows), {name: float(of(scores[rows], gold[rows])[0]) for name, of in CORRELATIONS.items()})
        for part, rows in parts.items()
    }
    return Judged("graded pairs", len(gold), tuple(quantities), figures, groups=groups)


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """The number of each name, in the order in which they come first."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def _parts(task: GradedPairs) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {}
    for row, part in enumerate(task.subtasks):
        parts.setdefault(part, []).append(row)
    return parts
