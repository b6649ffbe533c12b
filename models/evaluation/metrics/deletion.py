"""The deletion test of explanations: without a word of its strongest link, does a score fall further?"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged, mean_value
from semblance.models.evaluation.tasks import Deletion, GradedPairs
from semblance.models.explanation import Link, LinkList
from semblance.models.text import Unit

MOST_PAIRS = 500  # of a set, evenly spaced: enough for intervals of a few thousandths
LEAST_WORDS = 3  # of each text, so that something is left
SEED = 7


def deletion(pairs: GradedPairs) -> Deletion:
    """The test on some of the pairs of a set."""
    step = max(1, len(pairs.left) // MOST_PAIRS)
    return Deletion(pairs.left[::step][:MOST_PAIRS], pairs.right[::step][:MOST_PAIRS])


def judge(task: Deletion, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Means over pairs of texts a, b of at least three words each, for measures that explain.

    One text loses a word, the other stays whole; each text in turn, and the mean of both. With i, j the words that the
    strongest link joins, and p, q words drawn at random::

        deletion   (s(a - p, b) + s(a, b - q) - s(a - i, b) - s(a, b - j)) / 2    above 0: the links tell what matters
        strongest  s(a, b) - (s(a - i, b) + s(a, b - j)) / 2                      how far the score falls without i or j
        random     s(a, b) - (s(a - p, b) + s(a, b - q)) / 2                      and without p or q

    The strongest link is the one that adds most; pairs without a link that adds anything are left out, and measures
    all of whose links take away, such as distances. Figures are on the scale of the measure's scores, so measures are
    not compared with each other.
    """
    found: defaultdict[str, list[_Usable]] = defaultdict(list)
    for a, b, whys in zip(task.left, task.right, scorer.links(measures, task.left, task.right, "word"), strict=True):
        for name, why in whys.items():
            best = max(why.links, key=lambda link: link.contribution, default=None)
            if best and best.contribution > 0 and min(len(why.left), len(why.right)) >= LEAST_WORDS:
                found[name].append(_Usable(a, b, why, best))
    return {name: _judged(pairs, scorer, name) for name, pairs in found.items()}


@dataclass(frozen=True, slots=True)
class _Usable:
    """A pair, why it scores as it does, and the link that adds most."""

    a: str
    b: str
    why: LinkList
    best: Link


def _judged(pairs: Sequence[_Usable], scorer: Scorer, measure: str) -> Judged:
    draw = random.Random(SEED)  # noqa: S311 - a test of explanations, nothing secret
    a, b = [each.a for each in pairs], [each.b for each in pairs]
    without_i = [_without(each.a, each.why.left[each.best.left]) for each in pairs]
    without_j = [_without(each.b, each.why.right[each.best.right]) for each in pairs]
    without_p = [_without(each.a, draw.choice(each.why.left)) for each in pairs]
    without_q = [_without(each.b, draw.choice(each.why.right)) for each in pairs]
    left, right = [*a, *without_i, *a, *without_p, *a], [*b, *b, *without_j, *b, *without_q]
    whole, i, j, p, q = np.split(scorer.scores([measure], left, right)[measure], 5)
    falls = {"deletion": (p + q - i - j) / 2, "strongest": whole - (i + j) / 2, "random": whole - (p + q) / 2}
    quantities = tuple(mean_value(name, fall.tolist()) for name, fall in falls.items())
    return Judged("deletion", len(pairs), quantities, comparable=False)


def _without(text: str, unit: Unit) -> str:
    return f"{text[: unit.start]}{text[unit.end :]}"
