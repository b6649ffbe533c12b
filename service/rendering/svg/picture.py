"""Render an explanation as an SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from xml.etree import ElementTree as ET

import numpy as np

from semblance.models.explanation import Explanation
from semblance.models.text import Units
from semblance.service.rendering.caption import Caption, headline, subtitle
from semblance.service.rendering.colors import (
    ACCENT,
    FAINT_INK,
    INK,
    MINUS,
    PAPER,
    PLUS,
    QUIET,
    RULE,
    STEPS,
    ColorScale,
    color_of,
)
from semblance.service.rendering.direction import is_right_to_left, levels_of, places_in_line
from semblance.service.rendering.fonts import language_of
from semblance.service.rendering.labels import (
    ROOM,
    SCORE_DECIMALS,
    decimals_for,
    em_width,
    in_sentence,
    label,
    plain,
    signed,
    wrap,
)
from semblance.service.rendering.parts import ScorePart, Segment, bar_of
from semblance.service.rendering.svg.matrix import draw_matrix
from semblance.service.rendering.svg.sheet import (
    HEADING,
    INNER_WIDTH,
    LATIN_FAMILY,
    MARGIN,
    NOTE,
    NOTE_SIZE,
    SECTION_GAP,
    SUBTITLE_SIZE,
    TEXT_SIZE,
    TITLE_SIZE,
    VERDICT_SIZE,
    Box,
    Sheet,
    Style,
    box,
    flow,
    px,
    tooltip,
    write,
)
from semblance.service.rendering.verdict import verdict_line
from semblance.service.rendering.view import Side, View

MAX_LINES = 16  # of a text
_LEAST_INNER = 640.0  # px, which the legend needs
_MAX_UNIT_EM = 24.0
_UNIT_PADDING, _UNIT_GAP, _UNIT_HEIGHT, _UNIT_LINE = 3.0, 3.0, 21.0, 26.0
_BAR, _PART_LINE, _SWATCH, _PART_GAP = 22.0, 23.0, 11.0, 18.0
_STEP_WIDTH, _STEP_HEIGHT = 58.0, 19.0  # of a color in the legend
_SHADES = (4, 3, 2, 1)  # of links in turn, so that neighbors differ


def render_svg(explanation: Explanation, caption: Caption) -> str:
    """Render a score with both texts, the parts that sum to it, and the matrix of contributions.

    One scale of colors holds for the units of both texts and for the cells of the matrix: blue raises the score, red
    lowers it. Any text gives well-formed XML: elements are built as a tree, and characters that XML forbids become
    U+FFFD.
    """
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": LATIN_FAMILY, "role": "img"})
    paper = ET.SubElement(root, "rect", {"fill": PAPER})
    view = View(explanation, caption)
    sheet = Sheet(root, _inner_width(view))
    root.set("aria-label", f"Reasons of a score of two texts. {headline(explanation, caption)}")
    _draw_title(sheet, explanation, caption)
    for side in view.sides:
        sheet.skip(SECTION_GAP / 2)
        _draw_text(sheet, side, view.scale)
    sheet.skip(SECTION_GAP)
    _draw_sum(sheet, view)
    sheet.skip(SECTION_GAP / 2)
    draw_matrix(sheet, view)
    sheet.skip(SECTION_GAP)
    _draw_legend(sheet, view)
    size = {"width": px(sheet.inner + 2 * MARGIN), "height": px(np.ceil(sheet.y + MARGIN))}
    paper.attrib |= size
    root.attrib |= size | {"viewBox": f"0 0 {size['width']} {size['height']}"}
    return ET.tostring(root, encoding="unicode")


def _inner_width(view: View) -> float:
    """The width that the longest text needs on one line, within limits."""
    padding = 2 * _UNIT_PADDING + _UNIT_GAP
    longest = max(
        sum(ROOM * Style(TEXT_SIZE, bold=True).width(label(text, _MAX_UNIT_EM)) + padding for text in side.units.texts)
        for side in view.sides
    )
    least = INNER_WIDTH if view.lowers and not view.caption.distance else _LEAST_INNER
    return min(max(longest, least), INNER_WIDTH)


def _draw_title(sheet: Sheet, explanation: Explanation, caption: Caption) -> None:
    group = sheet.group("title")
    faint = Style(SUBTITLE_SIZE, fill=FAINT_INK)
    lines = [("".join(verdict_line(caption.same)), Style(VERDICT_SIZE, bold=True))] if caption.same else []
    lines += [(headline(explanation, caption), Style(TITLE_SIZE, bold=True))]
    lines += [(text, faint) for text in (subtitle(explanation, caption), *caption.warnings, *caption.cuts)]
    for text, style in lines:
        for part in wrap(text, sheet.inner / style.size * (0.9 if style.bold else 1.0)):
            sheet.line(group, part, style)


def _draw_text(sheet: Sheet, side: Side, scale: ColorScale) -> None:
    """Draw the heading of a text and its units, up to 16 lines, and how many more there are."""
    group = sheet.group("text")
    sheet.line(group, side.name, HEADING)
    style = Style(TEXT_SIZE, "middle", language=language_of(side.read.text))
    styles = [replace(style, bold=bool(differs)) for differs in side.differs]
    labels = [label(unit.text, _MAX_UNIT_EM) for unit in side.units]
    widths = (ROOM * own.width(name) + 2 * _UNIT_PADDING for name, own in zip(labels, styles, strict=True))
    places = [*takewhile(lambda place: place.line < MAX_LINES, flow(widths, _UNIT_GAP, sheet.inner))]
    decimals = decimals_for(scale.limit)
    for i, (place, to_left) in enumerate(_as_written(side.units, places, sheet.inner)):
        text, total = side.units[i].text, float(side.totals[i])
        corner = (MARGIN + place.x, sheet.y + place.line * _UNIT_LINE)
        outline = {"stroke": ACCENT, "stroke_width": "1.5"} if side.matched[i] else {}
        is_quiet = bool(scale.step(total)) and not side.says_much[i]
        fill = QUIET if is_quiet else scale.color(total)
        unit = box(group, corner, (place.width, _UNIT_HEIGHT), rx="3", fill=fill, **outline)
        tooltip(unit, f"{in_sentence(text)}: contributes {signed(total, decimals)}")
        middle = (corner[0] + place.width / 2, corner[1] + 0.72 * _UNIT_HEIGHT)
        inked = replace(styles[i], fill=INK if is_quiet else scale.ink(total), to_left=to_left)
        write(group, middle, labels[i], inked).set("pointer-events", "none")
    sheet.skip(_UNIT_LINE * (places[-1].line + 1 if places else 0))
    if len(side.units) > len(places):
        sheet.line(group, f"\u2026 and {len(side.units) - len(places):,} more", NOTE)


def _as_written(units: Units, places: Sequence[Box], inner: float) -> Iterator[tuple[Box, bool]]:
    """The boxes of units in the order of writing, and whether a part is written to the left.

    Lines of a text that is written to the left end at the right margin.
    """
    if not places:
        return
    first = int(units.spans[0, 0])
    spans: list[tuple[int, int]] = [(start - first, end - first) for start, end in units.spans[: len(places)].tolist()]
    text = units.text[first:][: max(end for _, end in spans)]
    levels, to_left = levels_of(text), is_right_to_left(text)
    for _, line in groupby(range(len(places)), key=lambda i: places[i].line):
        inside = [*line]
        start, last = spans[inside[0]][0], places[inside[-1]]
        end = max(spans[i][1] for i in inside)
        order = places_in_line(levels[start:end], [(spans[i][0] - start, spans[i][1] - start) for i in inside])
        boxes = flow((places[inside[k]].width for k in order), _UNIT_GAP, math.inf)
        moved = dict(zip(order, boxes, strict=True))
        margin = inner - last.x - last.width if to_left else 0.0
        for k, i in enumerate(inside):
            yield places[i]._replace(x=margin + moved[k].x), any(level % 2 for level in levels[slice(*spans[i])])


def _draw_sum(sheet: Sheet, view: View) -> None:
    """Draw a bar with a segment for each part, and below it the names and values."""
    group, best = sheet.group("sum"), view.caption.best
    scale = "" if math.isinf(best) or view.caption.distance else f", in a bar from 0 to {best:g}"
    sheet.line(group, f"Parts of the score{scale}", HEADING)
    _draw_bar(group, sheet, bar_of(view.parts, best), view.parts)
    sheet.skip(_BAR + 6)
    names = [f"{part.name} {signed(part.value, SCORE_DECIMALS)}" for part in view.parts]
    total = f"sum {plain(view.explanation.score, SCORE_DECIMALS)}"
    widths = [em_width(name) * SUBTITLE_SIZE + _SWATCH + 6 for name in (*names, total)]
    *places, last = flow(widths, _PART_GAP, sheet.inner)
    for i, (part, name, place) in enumerate(zip(view.parts, names, places, strict=True)):
        x, y = MARGIN + place.x, sheet.y + place.line * _PART_LINE
        box(group, (x, y + 4), (_SWATCH, _SWATCH), stroke=RULE, fill=_fill(part, i))
        write(group, (x + _SWATCH + 6, y + 14), name, Style(SUBTITLE_SIZE)).set("data-value", part.kind)
    at = (MARGIN + last.x, sheet.y + last.line * _PART_LINE + 14)
    write(group, at, total, Style(SUBTITLE_SIZE, bold=True)).set("data-value", "score")
    sheet.skip((last.line + 1) * _PART_LINE)


def _draw_bar(group: ET.Element, sheet: Sheet, segments: Sequence[Segment], parts: Sequence[ScorePart]) -> None:
    for part, start, share in segments:
        at, width = (MARGIN + sheet.inner * start, sheet.y), sheet.inner * share
        size, fill = (max(width - 1, 0.5), _BAR), _fill(part, parts.index(part))
        segment = box(group, at, size, fill=fill, data_part=part.kind)
        tooltip(segment, f"{part.name}: {signed(part.value, SCORE_DECIMALS)}")
    box(group, (MARGIN, sheet.y), (sheet.inner, _BAR), fill="none", stroke=RULE, rx="3")


def _fill(part: ScorePart, i: int) -> str:
    if part.kind == "special":
        return FAINT_INK
    if part.value < 0:
        return MINUS[3]
    if part.kind == "function":
        return QUIET
    return PLUS[1] if part.kind == "rest" else PLUS[_SHADES[i % len(_SHADES)]]


def _draw_legend(sheet: Sheet, view: View) -> None:
    """Draw what the colors of words mean, in texts and matrix alike: a box for each step."""
    group = sheet.group("legend")
    scale, caption = view.scale, view.caption
    if scale.limit > 0:
        text = f"Contribution of a {caption.granularity} to the score:"
        write(group, (MARGIN, sheet.y + 14), text, NOTE)
        left = MARGIN + em_width(text) * NOTE_SIZE + 10
        for k, step in enumerate(range(-STEPS if view.lowers else 0, 1 if caption.distance else STEPS + 1)):
            x, value = left + k * _STEP_WIDTH, scale.limit * step / STEPS
            box(group, (x, sheet.y), (_STEP_WIDTH, _STEP_HEIGHT), fill=color_of(step), stroke=RULE)
            style = Style(NOTE_SIZE, "middle", fill=scale.ink(value))
            write(group, (x + _STEP_WIDTH / 2, sheet.y + 13.5), signed(value, decimals_for(scale.limit)), style)
        sheet.skip(_STEP_HEIGHT + 6)
    notes = [
        "grey: function words and punctuation; others: these and weak words",
        "special tokens: added by the model, such as [CLS]" if view.explanation.special else "",
        "bold: words that differ, by the verdict" if any(side.differs.any() for side in view.sides) else "",
        "outlined: the same to the model, at distance 0" if view.matches.any() else "",
    ]
    for note in filter(None, notes):
        sheet.line(group, note, NOTE)
