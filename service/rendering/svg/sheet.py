"""The sheet that a picture is drawn on, from top to bottom, in px, with its boxes and texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from semblance.service.rendering.colors import FAINT_INK, INK
from semblance.service.rendering.fonts import Language, font_family, runs
from semblance.service.rendering.labels import isolated

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

WIDTH, MARGIN = 960.0, 32.0
INNER_WIDTH = WIDTH - 2 * MARGIN
TITLE_SIZE, SUBTITLE_SIZE, HEADING_SIZE, TEXT_SIZE, NOTE_SIZE = 20.0, 13.0, 13.0, 14.0, 11.5
SECTION_GAP = 22.0

# DejaVu Sans comes first because resvg always has it (see fonts.py), so that a PNG looks the same everywhere. The
# others are about as wide or narrower.
LATIN_FAMILY = "'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a text; `angle` is in degrees clockwise, `language` selects Han shapes."""

    size: float = 12.0
    anchor: Anchor = "start"
    bold: bool = False
    fill: str = INK
    angle: float = 0.0
    language: Language = "zh-Hans"


HEADING = Style(HEADING_SIZE, bold=True, fill=FAINT_INK)
NOTE = Style(NOTE_SIZE, fill=FAINT_INK)


@dataclass(slots=True, eq=False)
class Sheet:
    """The root element, and the height that is used up."""

    root: ET.Element
    y: float = MARGIN

    def group(self, name: str) -> ET.Element:
        """A group of elements of this class."""
        return ET.SubElement(self.root, "g", {"class": name})

    def line(self, group: ET.Element, text: str, style: Style) -> None:
        """Write a line at the left margin, and use up its height."""
        self.y += round(1.55 * style.size)
        write(group, (MARGIN, self.y - round(0.45 * style.size)), text, style)

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


def box(parent: ET.Element, at: Point, size: Point, **attributes: str) -> ET.Element:
    """Add a `<rect>` with its corner at `at`; in names of attributes, `_` stands for a hyphen."""
    place = {"x": px(at[0]), "y": px(at[1]), "width": px(size[0]), "height": px(size[1])}
    return ET.SubElement(parent, "rect", place | {name.replace("_", "-"): text for name, text in attributes.items()})


def write(parent: ET.Element, at: Point, text: str, style: Style) -> ET.Element:
    """Add a `<text>` with its anchor at the point `at`, isolated from its neighbors."""
    place = {"x": px(at[0]), "y": px(at[1])}
    if style.angle:
        place = {"transform": f"translate({px(at[0])} {px(at[1])}) rotate({px(style.angle)})"}
    attributes = place | {"font-size": px(style.size), "fill": style.fill}
    if style.anchor != "start":
        attributes["text-anchor"] = style.anchor
    if style.bold:
        attributes["font-weight"] = "700"
    element = ET.SubElement(parent, "text", attributes)
    _fill(element, isolated(text), style.language)
    return element


def tooltip(parent: ET.Element, text: str) -> None:
    """Add a tooltip to an element."""
    title = ET.Element("title")
    title.text = text
    parent.insert(0, title)


def px(length: float) -> str:
    """Format a length for SVG.

    >>> px(12.0), px(1.25)
    ('12', '1.2')
    """
    return f"{length:.1f}".removesuffix(".0")


def _fill(element: ET.Element, text: str, language: Language) -> None:
    latest: ET.Element | None = None
    for asian, run in runs(text):
        if asian:
            names = {"font-family": font_family(language), "xml:lang": language}
            latest = ET.SubElement(element, "tspan", names)
            latest.text = run
        elif latest is None:
            element.text = run
        else:
            latest.tail = run
