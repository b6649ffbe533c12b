"""The deletion test of explanations: without the words of its strongest link, does a score fall further?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from models.catalogue import explains
from models.evaluation.quantities import Judged, mean_value
from models.evaluation.scorer import Scorer
from models.evaluation.tasks import Deletion, GradedPairs
from models.explanation import LinkList
from models.text import Unit

MOST_PAIRS = 500  # of a set, evenly spaced: enough for intervals of a few thousandths
LEAST_WORDS = 3  # of each text, so that something is left
SEED = 7


def deletion(pairs: GradedPairs) -> Deletion:
    """The test on some of the pairs of a set."""
    step = max(1, len(pairs.left) // MOST_PAIRS)
    return Deletion(pairs.left[::step][:MOST_PAIRS], pairs.right[::step][:MOST_PAIRS])


def judge(task: Deletion, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Means over pairs of texts a, b of at least three words each, for measures that explain.

    With i, j the words that the strongest link joins, and p, q words drawn at random::

        deletion   s(a - p, b - q) - s(a - i, b - j)    above 0: the links tell what holds the score up
        strongest  s(a, b) - s(a - i, b - j)            by how much the score falls without i and j
        random     s(a, b) - s(a - p, b - q)            and without p and q

    They are on the scale of the measure's scores, so measures are not compared with each other.
    """
    explainable = [name for name in measures if explains(name)]
    explained = list(scorer.links(explainable, task.left, task.right, "word"))
    found = {name: _usable(task, [whys[name] for whys in explained]) for name in explainable}
    return {name: _judged(pairs, scorer, name) for name, pairs in found.items() if pairs}


def _usable(task: Deletion, whys: Sequence[LinkList]) -> list[tuple[str, str, LinkList]]:
    pairs = zip(task.left, task.right, whys, strict=True)
    return [(a, b, why) for a, b, why in pairs if min(len(why.left), len(why.right)) >= LEAST_WORDS]


def _judged(pairs: Sequence[tuple[str, str, LinkList]], scorer: Scorer, measure: str) -> Judged:
    draw = random.Random(SEED)  # noqa: S311 - a test of explanations, nothing secret
    left = [a for a, *_ in pairs]
    right = [b for _, b, _ in pairs]
    for a, b, why in pairs:
        left.append(_without(a, why.left[why.links[0].left]) if why.links else a)
        right.append(_without(b, why.right[why.links[0].right]) if why.links else b)
    for a, b, why in pairs:
        left.append(_without(a, draw.choice(why.left)))
        right.append(_without(b, draw.choice(why.right)))
    whole, strongest, at_random = np.split(scorer.scores([measure], left, right)[measure], 3)
    falls = {"deletion": at_random - strongest, "strongest": whole - strongest, "random": whole - at_random}
    quantities = tuple(mean_value(name, fall.tolist()) for name, fall in falls.items())
    return Judged("deletion", len(pairs), quantities, comparable=False)


def _without(text: str, unit: Unit) -> str:
    return f"{text[: unit.start]}{text[unit.end :]}"
