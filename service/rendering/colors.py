"""Colors of contributions: blue raises the score, red lowers it, near white is zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles

INK, FAINT_INK, RULE, PAPER = "#1f2933", "#5b6770", "#cfd6dc", "#ffffff"
POSITIVE, NEGATIVE = "#4393c3", "#d6604d"

# ColorBrewer's RdBu (Cynthia Brewer, colorbrewer2.org), a diverging scheme that color-blind readers can read; the
# darkest step of each arm is left out, so that black or white numbers are legible on every cell.
_MIDDLE = (247, 247, 247)
_BLUES = (_MIDDLE, (209, 229, 240), (146, 197, 222), (67, 147, 195), (33, 102, 172))
_REDS = (_MIDDLE, (253, 219, 199), (244, 165, 130), (214, 96, 77), (178, 24, 43))


@dataclass(frozen=True, slots=True)
class ColorScale:
    """Colors from -limit to limit, equally strong at the same distance from 0."""

    limit: float

    @classmethod
    def over(cls, *values: Doubles) -> ColorScale:
        """Scale up to the largest absolute value; limit 0 without values."""
        return cls(max((float(np.abs(part).max()) for part in values if part.size), default=0.0))

    def color(self, value: float) -> str:
        """Hexadecimal color of a value.

        >>> ColorScale(2.0).color(0.0), ColorScale(2.0).color(2.0), ColorScale(0.0).color(0.0)
        ('#f7f7f7', '#2166ac', '#f7f7f7')
        """
        stops = _BLUES if value >= 0 else _REDS
        strength = min(abs(value) / self.limit, 1.0) if self.limit > 0 else 0.0
        place = strength * (len(stops) - 1)
        below = min(int(place), len(stops) - 2)
        share = place - below
        mixed = (round(x + share * (y - x)) for x, y in zip(stops[below], stops[below + 1], strict=True))
        return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ink_on(color: str) -> str:
    """Black or white, whichever has more contrast: at least 4.5 to 1, as WCAG 2 requires.

    >>> ink_on("#f7f7f7"), ink_on("#2166ac")
    ('#000000', '#ffffff')
    """
    brightness = _luminance(color) + 0.05
    return "#ffffff" if 1.05 / brightness > brightness / 0.05 else "#000000"


def _luminance(color: str) -> float:
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
