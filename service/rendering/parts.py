"""Parts of a score: links of words that say much, special tokens, function words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.explanation import Explanation
from semblance.models.text import Booleans
from semblance.models.tokenization.function_words import say_much
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.direction import isolated
from semblance.service.rendering.labels import SCORE_DECIMALS, label, rounded_parts

FUNCTION_WORDS = "function words and punctuation"
_MAX_LINKS = 6  # with a part of their own
_MAX_WORD_EM = 15.0  # in names

PartKind: TypeAlias = Literal["link", "rest", "special", "function"]


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a score.

    Attributes:
        name: label of the pair of words, or what other parts are.
        kind: links of a pair of words, all others of words that say much, special tokens, or function words.
        exact: its value.
        links: places of both words of each link.
        value: rounded so that all sum to the rounded score.
    """

    name: str
    kind: PartKind
    exact: float
    links: tuple[tuple[int, int], ...] = ()
    value: float = 0.0


class Segment(NamedTuple):
    """A part in the bar, with its left edge and its width as shares of the bar."""

    part: ScorePart
    start: float
    width: float


def says_much(explanation: Explanation) -> tuple[Booleans, Booleans]:
    """(n,), (m,) whether the units of both texts are neither function words nor punctuation."""
    left, right = (np.array(say_much(side.texts), np.bool_) for side in (explanation.left, explanation.right))
    return left, right


def saying(explanation: Explanation) -> Booleans:
    """(n, m) whether both units of a link say much."""
    found: Booleans = np.logical_and.outer(*says_much(explanation))
    return found


def word_scale(explanation: Explanation) -> ColorScale:
    """One scale for the units of both texts that say much and for their links."""
    parts, much = explanation.contribution, says_much(explanation)
    return ColorScale.over(parts[np.ix_(*much)], parts.sum(axis=0)[much[1]], parts.sum(axis=1)[much[0]])


def score_parts(explanation: Explanation, decimals: int = SCORE_DECIMALS, *, merge: bool = False) -> list[ScorePart]:
    """The parts of a score, those of function words last.

    The strongest links of words that say much have parts of their own, and all others are one. Links of function words
    and punctuation are one part, whatever their other word is. Parts of 0 are left out, unless all are 0.

    Args:
        explanation: of the score.
        decimals: of the rounded values.
        merge: whether links of the same two words, which may occur several times, are one part.
    """
    contribution, said = explanation.contribution, saying(explanation)
    left, right = (side.texts for side in (explanation.left, explanation.right))
    rows, columns = (_kinds(side, merge=merge) for side in (left, right))
    pairs = np.zeros((len(left), len(right)))
    np.add.at(pairs, np.ix_(rows, columns), np.where(said, contribution, 0.0))
    parts = []
    for place in np.argsort(-np.abs(pairs), axis=None, kind="stable")[:_MAX_LINKS]:
        i, j = np.unravel_index(place, pairs.shape)
        linked = np.logical_and.outer(rows == i, columns == j) & said & (contribution != 0)
        places = [(int(row), int(column)) for row, column in np.argwhere(linked)]
        parts.append(ScorePart(pair_name(left[i], right[j]), "link", float(pairs[i, j]), tuple(places)))
        pairs[i, j] = 0.0
    parts += [
        ScorePart("other words", "rest", float(pairs.sum()) + explanation.omitted),
        ScorePart("special tokens", "special", explanation.special),
        ScorePart(FUNCTION_WORDS, "function", float(contribution[~said].sum())),
    ]
    parts = [part for part in parts if part.exact] or [ScorePart("links", "rest", 0.0)]
    values = rounded_parts([part.exact for part in parts], explanation.score, decimals)
    return [replace(part, value=value) for part, value in zip(parts, values, strict=True)]


def bar_of(parts: Sequence[ScorePart], best: float) -> list[Segment]:
    """The segments of a bar from 0 to the best score.

    What lowers the score lies over the end of what raises it.
    Without such a scale, as of distances, all parts fill the bar.

    >>> a, b = ScorePart("a", "link", 0.5, value=0.5), ScorePart("b", "rest", -0.1, value=-0.1)
    >>> [(segment.part.name, segment.start, segment.width) for segment in bar_of([b, a], 1.0)]
    [('a', 0.0, 0.5), ('b', 0.4, 0.1)]
    >>> [(round(segment.start, 2), round(segment.width, 2)) for segment in bar_of([a, b], 0.0)]
    [(0.0, 0.83), (0.83, 0.17)]
    """
    raising, lowering = ([part for part in parts if (part.value < 0) == below] for below in (False, True))
    raised, lowered = (sum(abs(part.value) for part in side) for side in (raising, lowering))
    is_scaled = math.isfinite(best) and best > 0 and raised >= lowered
    whole = (max(best, raised) if is_scaled else raised + lowered) or 1.0
    segments, at = [], 0.0
    for part in raising:
        segments.append(Segment(part, at / whole, part.value / whole))
        at += part.value
    for part in lowering:
        at -= abs(part.value) if is_scaled else 0.0
        segments.append(Segment(part, at / whole, abs(part.value) / whole))
        at += 0.0 if is_scaled else abs(part.value)
    return segments


def _kinds(words: Sequence[str], *, merge: bool) -> NDArray[np.intp]:
    """(n,) the place of each word, or with `merge` of its first occurrence in any case."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(word.lower(), i) if merge else i for i, word in enumerate(words)], np.intp)


def pair_name(left: str, right: str) -> str:
    """Two isolated words as a label, joined by "=" if they are the same."""
    one, other = (isolated(label(word, _MAX_WORD_EM)) for word in (left, right))
    return f"{one} {'=' if left.lower() == right.lower() else '~'} {other}"
