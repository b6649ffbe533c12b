"""Reasons of a classified pair: the words and numbers that speak against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.paraphrases.classifier import Classified, TextLosses
from semblance.models.tokenization.passages import Span

Run: TypeAlias = Sequence[int]
"""Places of words of a text."""
ReasonKind: TypeAlias = Literal["number", "negation", "replaced", "only", "order"]

LEAST = 0.1  # log-odds that a reason takes; smaller losses are summed


@dataclass(frozen=True, slots=True)
class PairReason:
    """A reason against two texts being the same.

    Attributes:
        kind: a number that differs; negation; words replaced by others; words that only one text has; or words in
            another order.
        log_odds: what it takes, below 0.
        a, b: the places of its words in both texts; one may be empty.
    """

    kind: ReasonKind
    log_odds: float
    a: tuple[Span, ...] = ()
    b: tuple[Span, ...] = ()


def reasons(pair: Classified) -> list[PairReason]:
    """The reasons of a pair, the heaviest first.

    Law: their log-odds, and the rest of those of the pair, sum to log_odds - base.
    """
    found = [*_numbers(pair), *_negation(pair), *_words(pair), *_order(pair)]
    return sorted((reason for reason in found if reason.log_odds <= -LEAST), key=lambda reason: reason.log_odds)


def _numbers(pair: Classified) -> Iterator[PairReason]:
    """Numbers that differ, in pairs as they are read."""
    for left, right in zip_longest(range(len(pair.left.missing)), range(len(pair.right.missing))):
        sides = [(losses, i) for losses, i in ((pair.left, left), (pair.right, right))]
        places = [() if i is None else ((losses.missing[i].start, losses.missing[i].end),) for losses, i in sides]
        loss = sum(float(losses.numbers[i]) for losses, i in sides if i is not None)
        yield PairReason("number", loss, *places)


def _negation(pair: Classified) -> Iterator[PairReason]:
    if pair.negation <= -LEAST:
        yield PairReason(
            "negation",
            pair.negation,
            *(_spans(each, np.flatnonzero(each.words.negations).tolist()) for each in (pair.left, pair.right)),
        )


def _words(pair: Classified) -> Iterator[PairReason]:
    """Neighbors without a partner of their stem, in pairs that are nearest to each other."""
    left, right = _runs(pair.left), _runs(pair.right)
    of_left, of_right = _nearest_runs(pair.left, left, right), _nearest_runs(pair.right, right, left)
    for i, run in enumerate(left):
        j = of_left[i]
        if j is None or of_right[j] != i:
            yield PairReason("only", _loss(pair.left, run), a=_spans(pair.left, run))
        else:
            loss = _loss(pair.left, run) + _loss(pair.right, right[j])
            yield PairReason("replaced", loss, _spans(pair.left, run), _spans(pair.right, right[j]))
    for j, run in enumerate(right):
        nearest = of_right[j]
        if nearest is None or of_left[nearest] != j:
            yield PairReason("only", _loss(pair.right, run), b=_spans(pair.right, run))


def _runs(losses: TextLosses) -> list[list[int]]:
    """Words without a partner of their stem, in groups of neighbors."""
    words, runs = losses.words, list[list[int]]()
    for row in np.flatnonzero(~(losses.partners.same | words.numeric | words.negations)).tolist():
        if runs and runs[-1][-1] == row - 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _nearest_runs(losses: TextLosses, runs: Sequence[Run], others: Sequence[Run]) -> list[int | None]:
    """The run of the other text with the largest link of each; None without one."""
    place = {row: i for i, other in enumerate(others) for row in other}
    links, rows = losses.partners.links.tolist(), losses.partners.rows.tolist()
    return [place.get(rows[max(run, key=links.__getitem__)]) for run in runs]


def _loss(losses: TextLosses, run: Run) -> float:
    return float(losses.wording[run[0] : run[-1] + 1].sum())


def _order(pair: Classified) -> Iterator[PairReason]:
    """Words that stand on another side of others."""
    loss = float(pair.left.order.sum() + pair.right.order.sum())
    if loss <= -LEAST:
        places = (_spans(each, np.flatnonzero(each.order).tolist()) for each in (pair.left, pair.right))
        yield PairReason("order", loss, *places)


def _spans(losses: TextLosses, rows: Run) -> tuple[Span, ...]:
    return tuple((start, end) for start, end in losses.words.units.spans[rows].tolist())
