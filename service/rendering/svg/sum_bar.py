"""Draw the bar whose segments add up to the score, and the sum in words."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from semblance.service.rendering.colors import FAINT_INK, MINUS, PLUS, RULE
from semblance.service.rendering.labels import SCORE_DECIMALS, em_width, label, plain, signed
from semblance.service.rendering.parts import ScorePart
from semblance.service.rendering.svg.sheet import HEADING_SIZE, INNER_WIDTH, MARGIN, SUBTITLE_SIZE, Sheet, flow
from semblance.service.rendering.svg.writing import Style, px, tooltip, write

_BAR, _LINE, _SWATCH, _GAP = 22.0, 23.0, 11.0, 18.0
_MAX_NAME_EM = 30.0
_SHADES = (4, 3, 2, 1)  # of links in turn, so that neighbors differ
_REST, _SPECIAL = PLUS[0], FAINT_INK


def draw_sum(sheet: Sheet, parts: Sequence[ScorePart], score: float) -> None:
    """Draw a segment for each part, and below their names and values, which sum to the score."""
    group = sheet.group("sum")
    style = Style(HEADING_SIZE, bold=True, fill=FAINT_INK)
    write(group, (MARGIN, sheet.line(HEADING_SIZE)), "Parts of the score", style)
    _draw_bar(group, sheet.y, parts)
    sheet.skip(_BAR + 6)
    names = [f"{label(part.name, _MAX_NAME_EM)} {signed(part.value, SCORE_DECIMALS)}" for part in parts]
    names.append(f"sum {plain(score, SCORE_DECIMALS)}")
    widths = [em_width(name) * SUBTITLE_SIZE + _SWATCH + 6 for name in names]
    places = list(flow(widths, _GAP, INNER_WIDTH))
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        x, y = MARGIN + place.x, sheet.y + place.line * _LINE
        if i == len(parts):
            write(group, (x, y + 14), name, Style(SUBTITLE_SIZE, bold=True)).set("data-value", "score")
            continue
        swatch = {"x": px(x), "y": px(y + 4), "width": px(_SWATCH), "height": px(_SWATCH), "stroke": RULE}
        ET.SubElement(group, "rect", swatch | {"fill": _fill(parts[i], i)})
        written = write(group, (x + _SWATCH + 6, y + 14), name, Style(SUBTITLE_SIZE))
        written.set("data-value", parts[i].kind)
    sheet.skip((places[-1].line + 1) * _LINE)


def _draw_bar(group: ET.Element, y: float, parts: Sequence[ScorePart]) -> None:
    whole = sum(abs(part.value) for part in parts)
    x = MARGIN
    for i, part in enumerate(parts if whole else ()):
        width = INNER_WIDTH * abs(part.value) / whole
        place = {"x": px(x), "y": px(y), "width": px(max(width - 1, 0.5)), "height": px(_BAR)}
        segment = ET.SubElement(group, "rect", place | {"fill": _fill(part, i), "data-part": part.kind})
        tooltip(segment, f"{label(part.name, _MAX_NAME_EM)}: {signed(part.value, SCORE_DECIMALS)}")
        x += width
    frame = {"x": px(MARGIN), "y": px(y), "width": px(INNER_WIDTH), "height": px(_BAR), "fill": "none", "stroke": RULE}
    ET.SubElement(group, "rect", frame | {"rx": "3"})


def _fill(part: ScorePart, i: int) -> str:
    if part.kind == "special":
        return _SPECIAL
    if part.value < 0:
        return MINUS[3]
    return _REST if part.kind == "rest" else PLUS[_SHADES[i % len(_SHADES)]]
