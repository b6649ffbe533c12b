"""Colors of contributions, in steps: blue raises the score, red lowers it.

The steps are those of the playground in its light form (`playground/assets/style.css`), whose classes pages use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles

INK, FAINT_INK, RULE, PAPER, ACCENT = "#1f2933", "#52606b", "#d5dce2", "#ffffff", "#1d5c96"
PLUS = ("#e1edf6", "#b9d8eb", "#86bbdc", "#4b95c6", "#1f66a6")
MINUS = ("#fbe4d8", "#f6c3a8", "#ec9a7b", "#d2604d", "#a9202c")
STEPS = len(PLUS)
QUIET, QUIET_NAME = "#c3ced8", "says-little"  # of function words and punctuation


@dataclass(frozen=True, slots=True)
class ColorScale:
    """Steps of color from -limit to limit, equally strong at the same distance from 0."""

    limit: float

    @classmethod
    def over(cls, *values: Doubles) -> ColorScale:
        """Scale up to the largest absolute value; limit 0 without values."""
        return cls(max((float(np.abs(part).max()) for part in values if part.size), default=0.0))

    def step(self, value: float) -> int:
        """The step of a value, from -5 to 5; larger values have the last one.

        >>> ColorScale(2.0).step(0.1), ColorScale(2.0).step(-0.9), ColorScale(2.0).step(9.0), ColorScale(0.0).step(1.0)
        (0, -2, 5, 0)
        """
        if self.limit == 0:
            return 0
        step = min(math.floor(STEPS * abs(value) / self.limit + 0.5), STEPS)
        return step if value > 0 else -step

    def color(self, value: float) -> str:
        """Hexadecimal color of a value on paper.

        >>> ColorScale(2.0).color(0.0), ColorScale(2.0).color(2.0), ColorScale(0.0).color(0.0)
        ('#ffffff', '#1f66a6', '#ffffff')
        """
        return color_of(self.step(value))

    def ink(self, value: float) -> str:
        """Color of writing on the color of a value."""
        return ink_on(self.color(value)) if self.step(value) else INK

    def name(self, value: float) -> str:
        """The class of the color of a value in style.css.

        >>> ColorScale(2.0).name(0.0), ColorScale(2.0).name(-1.0)
        ('shade-0', 'shade-minus-3')
        """
        step = self.step(value)
        return f"shade-{'minus' if step < 0 else 'plus'}-{abs(step)}" if step else "shade-0"


def color_of(step: int) -> str:
    """Hexadecimal color of a step."""
    if step == 0:
        return PAPER
    return (PLUS if step > 0 else MINUS)[abs(step) - 1]


def ink_on(color: str) -> str:
    """Black or white, whichever has more contrast: at least 4.5 to 1, as WCAG 2 requires.

    >>> ink_on("#ffffff"), ink_on("#1f66a6")
    ('#000000', '#ffffff')
    """
    brightness = _luminance(color) + 0.05
    return "#ffffff" if 1.05 / brightness > brightness / 0.05 else "#000000"


def _luminance(color: str) -> float:
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
