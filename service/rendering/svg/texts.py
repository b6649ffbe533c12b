"""Draw both texts: each unit in a box colored by its contribution."""

from __future__ import annotations

from dataclasses import dataclass
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
    Box,
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
    places = [place for place in flow(widths, _GAP, INNER_WIDTH) if place.line < MAX_LINES]
    for i, place in enumerate(places):
        _draw_unit(group, sheet.y, text, i, place, scale)
    sheet.skip(_LINE * (places[-1].line + 1 if places else 0))
    if len(text.units) > len(places):
        more = f"\u2026 and {len(text.units) - len(places):,} more"
        write(group, (MARGIN, sheet.line(NOTE_SIZE)), more, Style(NOTE_SIZE, fill=FAINT_INK))


def _draw_unit(group: ET.Element, top: float, text: ColoredText, i: int, place: Box, scale: ColorScale) -> None:
    left = MARGIN + (INNER_WIDTH - place.x - place.width if is_right_to_left(text.read.text) else place.x)
    y = top + place.line * _LINE
    total = float(text.totals[i])
    color = scale.color(total)
    box = {"x": px(left), "y": px(y), "width": px(place.width), "height": px(_BOX), "rx": "3", "fill": color}
    if text.matched[i]:
        box |= {"stroke": ACCENT, "stroke-width": "1.5"}
    said = f"{in_sentence(text.units[i].text)}: contributes {signed(total, decimals_for(scale.limit))}"
    tooltip(ET.SubElement(group, "rect", box), said)
    style = Style(TEXT_SIZE, "middle", fill=scale.ink(total), language=language_of(text.read.text))
    at = (left + place.width / 2, y + 0.72 * _BOX)
    write(group, at, label(text.units[i].text, _MAX_UNIT_EM), style).set("pointer-events", "none")
