"""Which units a picture has room for."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption

MAX_UNITS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """An explanation small enough to draw, and one note for each side that lost units."""

    explanation: Explanation
    notes: tuple[str, ...]


def select(explanation: Explanation, caption: Caption) -> Selection:
    """At most MAX_UNITS units a side, those that carry most; the rest moves to `omitted`, so the parts still sum.

    Units go a few at a time and the rest is weighed anew: what counts is a unit's links with units that stay. Cropped
    in one step, a picture of two long texts keeps many units whose partners are gone.
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
