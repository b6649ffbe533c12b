"""Caption of a picture, and the units it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from semblance.models.explanation import Explanation, ReadText
from semblance.models.text import Booleans
from semblance.service.rendering.labels import plain

MAX_UNITS = 40


@dataclass(frozen=True, slots=True)
class Caption:
    """Names for the title, and the two texts.

    Attributes:
        measure, model: served names.
        a, b: the two texts as sent, with the parts that the model read; units refer to their characters.
        granularity: singular noun for a unit: "token" or "word".
        distance: whether the score is minus a distance, so that 0 is the best possible.
        warnings: messages to show with the score.
        probability: that people call the pair the same, and the data by which it was fitted; None if unknown.
    """

    measure: str
    model: str
    a: ReadText
    b: ReadText
    granularity: str
    distance: bool = False
    warnings: tuple[str, ...] = ()
    probability: tuple[float, str] | None = None

    def counted(self, count: int) -> str:
        """Count of units with the noun: "1 word", "2 words"."""
        return f"{count} {self.granularity}" + ("" if count == 1 else "s")

    def closeness(self, similarity: float) -> str:
        """The similarity of two units in words; for a distance, which is minus that, the distance."""
        return f"distance {plain(-similarity, 2)}" if self.distance else f"similarity {plain(similarity, 2)}"

    @property
    def cuts(self) -> tuple[str, ...]:
        """What the model did not read of each truncated text."""
        return cut_notes({"Text a": self.a, "Text b": self.b})


def cut_notes(texts: Mapping[str, ReadText]) -> tuple[str, ...]:
    """What the model did not read of each truncated text, by the names of the texts.

    >>> cut_notes({"Text a": ReadText("abcdef", True, 0, 4), "Text b": ReadText("abc", False, 0, 3)})
    ('Text a was cut: the model read up to character 4 of 6.',)
    >>> cut_notes({"Text a": ReadText("abcdef", True, 4, 6)})
    ('Text a was cut: the model did not read the first 4 of 6 characters.',)
    """
    return tuple(f"{name} was cut: the model {_cut(text)}." for name, text in texts.items() if text.truncated)


def _cut(text: ReadText) -> str:
    length = f"{len(text.text):,}"
    if text.start:
        return f"did not read the first {text.start:,} of {length} characters"
    return f"read up to character {text.end:,} of {length}"


def matches(explanation: Explanation, caption: Caption) -> Booleans:
    """(n, m) True for pairs of units at distance 0; none unless the score is minus a distance."""
    same: Booleans = (explanation.similarity == 0) & (explanation.contribution == 0) & caption.distance
    return same


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """An explanation small enough to draw, and a note for each text that lost units."""

    explanation: Explanation
    notes: tuple[str, ...]


def select(explanation: Explanation, caption: Caption) -> Selection:
    """Select MAX_UNITS units of each text by contribution; the rest moves to `omitted`.

    Units are removed a few at a time, and the others ranked again: only links with remaining units count. In one step,
    a picture of two long texts would keep many units whose partners are removed.
    """
    sides = (("a", len(explanation.left)), ("b", len(explanation.right)))
    notes = tuple(
        f"Showing {MAX_UNITS} of {caption.counted(count)} of {side}; links of the others are in \u201comitted\u201d."
        for side, count in sides
        if count > MAX_UNITS
    )
    while max(len(explanation.left), len(explanation.right)) > MAX_UNITS:
        explanation = explanation.crop(_fewer(len(explanation.left)), _fewer(len(explanation.right)))
    return Selection(explanation, notes)


def _fewer(count: int) -> int:
    return min(count, max(MAX_UNITS, count * 9 // 10))
