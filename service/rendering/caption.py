"""Caption of a picture, and the units it shows."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.models.explanation import Explanation

MAX_UNITS = 40


@dataclass(frozen=True, slots=True)
class Caption:
    """Names for the title, and the two texts.

    Attributes:
        measure, model: served names.
        a, b: the two texts as sent; units refer to their characters.
        granularity: singular noun for a unit: "token" or "word".
        truncated: whether the model read only part of a text.
    """

    measure: str
    model: str
    a: str
    b: str
    granularity: str
    truncated: bool = False

    def counted(self, count: int) -> str:
        """Count of units with the noun.

        >>> Caption("rcmd", "mini", "", "", "word").counted(1)
        '1 word'
        """
        return f"{count} {self.granularity}" + ("" if count == 1 else "s")


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
