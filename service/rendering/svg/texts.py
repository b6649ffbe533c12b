"""Draw both texts: each unit in a box colored by its contribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from xml.etree import ElementTree as ET

from semblance.models.embeddings import Doubles
from semblance.models.explanation import ReadText
from semblance.models.text import Booleans, Units
from semblance.service.rendering.colors import ACCENT, FAINT_INK, ColorScale
from semblance.service.rendering.fonts import language_of
from semblance.service.rendering.labels import decimals_for, em_width, in_sentence, is_right_to_left, label, signed
from semblance.service.rendering.svg.sheet import (
    HEADING_SIZE,
    INNER_WIDTH,
    MARGIN,
    NOTE_SIZE,
    TEXT_SIZE,
    Sheet,
    flow,
)
from semblance.service.rendering.svg.writing import Style, px, tooltip, write

MAX_LINES = 16  # of a text
_MAX_UNIT_EM = 24.0
_PADDING, _GAP, _BOX, _LINE = 3.0, 3.0, 21.0, 26.0


@dataclass(frozen=True, slots=True, eq=False)
class ColoredText:
    """A text with n units.

    Attributes:
        name: of the text.
        read: the text.
        units: its words or tokens.
        totals: (n,) their contributions.
        matched: (n,) whether they have a partner at distance 0.
    """

    name: str
    read: ReadText
    units: Units
    totals: Doubles
    matched: Booleans


def draw_text(sheet: Sheet, text: ColoredText, scale: ColorScale) -> None:
    """Draw the heading of a text and its units, up to 16 lines, and how many more there are."""
    group = sheet.group("text")
    write(group, (MARGIN, sheet.line(HEADING_SIZE)), text.name, Style(HEADING_SIZE, bold=True, fill=FAINT_INK))
    widths = (em_width(label(unit.text, _MAX_UNIT_EM)) * TEXT_SIZE + 2 * _PADDING for unit in text.units)
    places = [*takewhile(lambda place: place.line < MAX_LINES, flow(widths, _GAP, INNER_WIDTH))]
    to_left = is_right_to_left(text.read.text)
    style = Style(TEXT_SIZE, "middle", language=language_of(text.read.text))
    for i, place in enumerate(places):
        x = INNER_WIDTH - place.x - place.width if to_left else place.x
        _draw_unit(group, (MARGIN + x, sheet.y + place.line * _LINE, place.width), text, i, scale, style)
    sheet.skip(_LINE * (places[-1].line + 1 if places else 0))
    if len(text.units) > len(places):
        more = f"\u2026 and {len(text.units) - len(places):,} more"
        write(group, (MARGIN, sheet.line(NOTE_SIZE)), more, Style(NOTE_SIZE, fill=FAINT_INK))


def _draw_unit(
    group: ET.Element, at: tuple[float, float, float], text: ColoredText, i: int, scale: ColorScale, style: Style
) -> None:
    """Draw a unit at a left edge, a top and a width."""
    left, y, width = at
    total = float(text.totals[i])
    color = scale.color(total)
    box = {"x": px(left), "y": px(y), "width": px(width), "height": px(_BOX), "rx": "3", "fill": color}
    if text.matched[i]:
        box |= {"stroke": ACCENT, "stroke-width": "1.5"}
    said = f"{in_sentence(text.units[i].text)}: contributes {signed(total, decimals_for(scale.limit))}"
    tooltip(ET.SubElement(group, "rect", box), said)
    middle, inked = (left + width / 2, y + 0.72 * _BOX), replace(style, fill=scale.ink(total))
    write(group, middle, label(text.units[i].text, _MAX_UNIT_EM), inked).set("pointer-events", "none")
