"""The parts of a score that a reader can follow; they sum to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from semblance.models.explanation import Explanation, Link
from semblance.service.rendering.function_words import says_much
from semblance.service.rendering.labels import SCORE_DECIMALS, rounded_parts

MAX_LINKS = 6  # with a part of their own

PartKind: TypeAlias = Literal["link", "rest", "special"]


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a score with its name, rounded so that all sum to the rounded score."""

    name: str
    value: float
    kind: PartKind


def score_parts(explanation: Explanation) -> list[ScorePart]:
    """The parts of a score: links of words, function words, and special tokens.

    The strongest links have parts of their own; all others are one part, and so are those of function words and
    punctuation. A link says much if one of its units does. Parts of 0 are left out, unless all are 0.
    """
    links = explanation.links
    saying = [link for link in links if _says_much(explanation, link)]
    own, others = saying[:MAX_LINKS], saying[MAX_LINKS:]
    parts = [ScorePart(_pair_name(explanation, link), link.contribution, "link") for link in own]
    small = sum(link.contribution for link in links) - sum(link.contribution for link in saying)
    parts += [
        ScorePart("other words", sum(link.contribution for link in others) + explanation.omitted, "rest"),
        ScorePart("function words and punctuation", small if len(saying) < len(links) else 0.0, "rest"),
        ScorePart("special tokens", explanation.special, "special"),
    ]
    return _rounded([part for part in parts if part.value] or [ScorePart("links", 0.0, "rest")], explanation.score)


def _pair_name(explanation: Explanation, link: Link) -> str:
    """Both units of a link: joined by "=" if they are the same word."""
    left, right = explanation.left[link.left].text, explanation.right[link.right].text
    return f"{left} {'=' if left.lower() == right.lower() else '~'} {right}"


def _says_much(explanation: Explanation, link: Link) -> bool:
    return says_much(explanation.left[link.left].text) or says_much(explanation.right[link.right].text)


def _rounded(parts: Sequence[ScorePart], score: float) -> list[ScorePart]:
    values = rounded_parts([part.value for part in parts], score, SCORE_DECIMALS)
    return [replace(part, value=value) for part, value in zip(parts, values, strict=True)]
