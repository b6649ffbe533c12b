"""The sheet that a picture is drawn on, from top to bottom: its measures, in px."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree as ET

WIDTH, MARGIN = 960.0, 32.0
INNER_WIDTH = WIDTH - 2 * MARGIN
TITLE_SIZE, SUBTITLE_SIZE, HEADING_SIZE, TEXT_SIZE, NOTE_SIZE = 20.0, 13.0, 13.0, 14.0, 11.5
SECTION_GAP = 22.0


@dataclass(slots=True, eq=False)
class Sheet:
    """The root element, and the height that is used up."""

    root: ET.Element
    y: float = MARGIN

    def group(self, name: str) -> ET.Element:
        """A group of elements of this class."""
        return ET.SubElement(self.root, "g", {"class": name})

    def line(self, size: float) -> float:
        """Use up a line; returns its baseline."""
        self.y += round(1.55 * size)
        return self.y - round(0.45 * size)

    def skip(self, height: float) -> None:
        """Use up some height."""
        self.y += height


class Box(NamedTuple):
    """A box in a flow: its line, left edge and width."""

    line: int
    x: float
    width: float


def flow(widths: Iterable[float], gap: float, room: float) -> Iterator[Box]:
    """Place boxes in lines of some room.

    >>> [(box.line, box.x) for box in flow([40, 50, 30], 10, 100)]
    [(0, 0.0), (0, 50.0), (1, 0.0)]
    """
    line, x = 0, 0.0
    for width in widths:
        if x and x + width > room:
            line, x = line + 1, 0.0
        yield Box(line, x, width)
        x += width + gap
