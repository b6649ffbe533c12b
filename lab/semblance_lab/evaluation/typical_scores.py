"""Typical scores: what a measure gives to random, related and equivalent texts."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import Task

PAIRS = 150  # of each kind and set
MIDDLE = (10, 90)  # percentiles
# grades of related texts and of paraphrases, by set; None for sets whose pairs match or do not
GRADES: Mapping[str, tuple[tuple[float, float], tuple[float, float]] | None] = {
    "stsb_dev": ((2.0, 3.0), (4.6, 5.0)),
    "sickr_trial": ((2.5, 3.5), (4.6, 5.0)),
    "pit_dev": ((1.0, 2.0), (4.0, 5.0)),
    "qqp_dev": None,
    "msrp_train": None,
}


@dataclass(frozen=True, slots=True)
class TypicalScores:
    """The range of the middle 80 % of a measure's scores, for each kind of pair: from and to."""

    measure: str
    random: tuple[float, float]
    related: tuple[float, float]
    paraphrases: tuple[float, float]


def typical_scores(tasks: Mapping[str, Task], scorer: Scorer, measures: Sequence[str]) -> Iterator[TypicalScores]:
    """Score equal numbers of random pairs, related texts and paraphrases of five kinds of text.

    The kinds are news and forums, captions, tweets, questions, and sentences of news articles. Related texts have a
    middle grade, or share many words without being paraphrases; paraphrases have the best grades. The same pairs are
    drawn every time.

    Args:
        tasks: the sets of `GRADES` by name.
        scorer: computes the scores.
        measures: by name.

    Raises:
        BadDataSet: a set has no grades or labels.
    """
    drawn: dict[str, list[tuple[str, str]]] = {"random": [], "related": [], "paraphrases": []}
    for name, grades in GRADES.items():
        for kind, pairs in _by_kind(name, tasks[name], grades).items():
            drawn[kind] += [pairs[i] for i in _shuffled(name, len(pairs))[:PAIRS]]
    scores = {kind: scorer.scores(measures, *map(list, zip(*pairs, strict=True))) for kind, pairs in drawn.items()}
    for measure in measures:
        yield TypicalScores(measure, **{kind: _middle(of_kind[measure]) for kind, of_kind in scores.items()})


def _by_kind(
    name: str, task: Task, grades: tuple[tuple[float, float], tuple[float, float]] | None
) -> dict[str, list[tuple[str, str]]]:
    """All pairs of a set by kind; random ones join texts of two pairs."""
    if not isinstance(task, GradedPairs | LabeledPairs):
        raise BadDataSet(f"{name} has no grades or labels, by which typical scores are read")
    if isinstance(task, LabeledPairs):
        related, paraphrases = ([i for i, match in enumerate(task.matches) if match == best] for best in (False, True))
    else:
        assert grades is not None, f"{name} is graded"
        related, paraphrases = (
            [i for i, grade in enumerate(task.gold) if low <= grade <= high] for low, high in grades
        )
    return {
        "random": [(left, task.right[i]) for left, i in zip(task.left, _shuffled(name, len(task.right)), strict=True)],
        "related": [(task.left[i], task.right[i]) for i in related],
        "paraphrases": [(task.left[i], task.right[i]) for i in paraphrases],
    }


def _shuffled(name: str, count: int) -> list[int]:
    """The numbers below `count` in an order that depends on the name only."""
    order: list[int] = np.random.default_rng(zlib.crc32(name.encode())).permutation(count).tolist()
    return order


def _middle(scores: Doubles) -> tuple[float, float]:
    low, high = np.percentile(scores, MIDDLE).round(2).tolist()
    return low, high
