"""Deletion test: without a word of the strongest link, the score should drop most."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.explanation import Link, LinkList
from semblance.models.judgments.counts import mean_value
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.text import Unit
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import Deletion

MAX_PAIRS = 500  # of a set, evenly spaced: enough for intervals of a few thousandths
MIN_WORDS = 3  # of each text, so that it is not empty after the deletion
SEED = 7


def deletion_task(pairs: GradedPairs) -> Deletion:
    """The deletion test on up to `MAX_PAIRS` pairs of a set."""
    step = max(1, len(pairs.left) // MAX_PAIRS)
    return Deletion(pairs.left[::step][:MAX_PAIRS], pairs.right[::step][:MAX_PAIRS])


def deletion_metrics(task: Deletion, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Mean score drops after deleting words, for measures that explain their score.

    Means are over pairs of texts a, b of at least three words each. A word is deleted from one text while the other
    stays complete; both texts in turn, and their mean. With i, j the words of the strongest link, and p, q words drawn
    at random::

        deletion   (s(a - p, b) + s(a, b - q) - s(a - i, b) - s(a, b - j)) / 2    above 0: links show what matters
        strongest  s(a, b) - (s(a - i, b) + s(a, b - j)) / 2                      drop of the score without i or j
        random     s(a, b) - (s(a - p, b) + s(a, b - q)) / 2                      drop without p or q

    The strongest link has the largest contribution; pairs without a positive contribution are left out, and so are
    measures that have none at all, such as distances. Figures are on the scale of the measure's scores, so measures are
    not compared with each other.
    """
    examples: defaultdict[str, list[_Example]] = defaultdict(list)
    for a, b, each in zip(task.left, task.right, scorer.links(measures, task.left, task.right, "word"), strict=True):
        for name, links in each.items():
            best = max(links.links, key=lambda link: link.contribution, default=None)
            if best and best.contribution > 0 and min(len(links.left), len(links.right)) >= MIN_WORDS:
                examples[name].append(_Example(a, b, links, best))
    return {name: _task_metrics(pairs, scorer, name) for name, pairs in examples.items()}


@dataclass(frozen=True, slots=True)
class _Example:
    """A pair of texts with the links of its score, and the strongest of them."""

    a: str
    b: str
    links: LinkList
    best: Link


def _task_metrics(pairs: Sequence[_Example], scorer: Scorer, measure: str) -> TaskMetrics:
    draw = random.Random(SEED)  # noqa: S311 - a test of explanations, nothing secret
    a, b = [each.a for each in pairs], [each.b for each in pairs]
    without_i = [_without(pair.a, pair.links.left[pair.best.left]) for pair in pairs]
    without_j = [_without(each.b, each.links.right[each.best.right]) for each in pairs]
    without_p = [_without(each.a, draw.choice(each.links.left)) for each in pairs]
    without_q = [_without(each.b, draw.choice(each.links.right)) for each in pairs]
    left, right = [*a, *without_i, *a, *without_p, *a], [*b, *b, *without_j, *b, *without_q]
    whole, i, j, p, q = np.split(scorer.scores([measure], left, right)[measure], 5)
    drops = {"deletion": (p + q - i - j) / 2, "strongest": whole - (i + j) / 2, "random": whole - (p + q) / 2}
    metrics = tuple(mean_value(name, drop.tolist()) for name, drop in drops.items())
    return TaskMetrics("deletion", len(pairs), metrics, comparable=False)


def _without(text: str, unit: Unit) -> str:
    return f"{text[: unit.start]}{text[unit.end :]}"
