"""The sheet that a picture is drawn on, from top to bottom, in px, with its boxes and texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from semblance.service.rendering.colors import FAINT_INK, INK
from semblance.service.rendering.direction import is_right_to_left, isolated
from semblance.service.rendering.fonts import BASE, EAST_ASIAN, Font, Language, font_family, runs
from semblance.service.rendering.labels import drawn_width

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]

WIDTH, MARGIN = 960.0, 32.0
INNER_WIDTH = WIDTH - 2 * MARGIN
TITLE_SIZE, VERDICT_SIZE, SUBTITLE_SIZE, HEADING_SIZE, TEXT_SIZE, NOTE_SIZE = 20.0, 16.0, 13.0, 13.0, 14.0, 11.5
SECTION_GAP = 22.0
_SHARES: Mapping[Anchor, float] = {"start": 0.0, "middle": 0.5, "end": 1.0}  # of a text before its anchor

# DejaVu Sans comes first because resvg always has it (see fonts.py), so that a PNG looks the same everywhere. The
# others are about as wide or narrower.
_BOLD_WIDTH = 1.1  # of regular letters
LATIN_FAMILY = "'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a text.

    Attributes:
        angle: in degrees clockwise.
        language: selects Han shapes.
        to_left: whether it is a part of a text that is written to the left.
    """

    size: float = 12.0
    anchor: Anchor = "start"
    bold: bool = False
    fill: str = INK
    angle: float = 0.0
    language: Language = "zh-Hans"
    to_left: bool = False

    def width(self, text: str) -> float:
        """Width of a text in px."""
        return drawn_width(text) * self.size * (_BOLD_WIDTH if self.bold else 1.0)


HEADING = Style(HEADING_SIZE, bold=True, fill=FAINT_INK)
NOTE = Style(NOTE_SIZE, fill=FAINT_INK)


@dataclass(slots=True, eq=False)
class Sheet:
    """The root element, the width between its margins, and the height that is used up."""

    root: ET.Element
    inner: float = INNER_WIDTH
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
    pieces = [*runs(text)]
    if style.anchor != "start" and len(pieces) <= 1:
        attributes["text-anchor"] = style.anchor
    if style.bold:
        attributes["font-weight"] = "700"
    element = ET.SubElement(parent, "text", attributes)
    if len(pieces) <= 1:
        _fill(element, pieces, style)
    else:
        _place(element, 0.0 if style.angle else at[0], text, pieces, style)
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


def _fill(element: ET.Element, pieces: Sequence[tuple[Font, str]], style: Style) -> None:
    """Write the only run of a text, if any."""
    for font, run in pieces:
        element.text = isolated(run, to_left=style.to_left)
        element.attrib |= _font(font, style)


def _place(element: ET.Element, x: float, text: str, pieces: Sequence[tuple[Font, str]], style: Style) -> None:
    """Write each run at a place of its own, which keeps the renderer from mixing their fonts."""
    left = x - style.width(text) * _SHARES[style.anchor]
    for font, run in reversed(pieces) if is_right_to_left(text) else pieces:
        place = ET.SubElement(element, "tspan", {"x": px(left)} | _font(font, style))
        place.text = isolated(run, to_left=style.to_left)
        left += style.width(run)


def _font(font: Font, style: Style) -> dict[str, str]:
    family = {} if font is BASE else {"font-family": font_family(font, style.language)}
    return family | ({"xml:lang": style.language} if font is EAST_ASIAN else {})
