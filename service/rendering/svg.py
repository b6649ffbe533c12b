"""Render an explanation as an SVG: heat map, color legend, and parts of the score."""

from __future__ import annotations

from typing import TypeAlias
from xml.etree import ElementTree as ET

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption, select
from semblance.service.rendering.colors import FAINT_INK, PAPER, ColorScale
from semblance.service.rendering.heatmap import Axis, Heatmap, draw_heatmap
from semblance.service.rendering.labels import SCORE_DECIMALS, label, plain
from semblance.service.rendering.layout import (
    MARGIN,
    NOTE_SIZE,
    SUBTITLE_SIZE,
    TITLE_SIZE,
    Layout,
    layout_for,
    line_height,
)
from semblance.service.rendering.side_panel import draw_bars, draw_legend
from semblance.service.rendering.svg_text import LATIN_FAMILY, Style, px, write

HeaderLine: TypeAlias = tuple[str, Style]

_MAX_NAME_EM = 36.0
_MAX_MESSAGE_EM = 100.0
_BARS_BELOW_LEGEND = 98.0


def render_svg(explanation: Explanation, caption: Caption) -> str:
    """Render links between two texts as a heat map, with a legend and the parts of the score.

    Rows are units of a, columns units of b; the color is the contribution, on a scale centered at 0: blue raises the
    score, red lowers it. A text of more than 40 units is cropped to those that contribute most, with a note; the
    printed links, special and omitted parts sum to the printed score. Any text gives well-formed XML: elements are
    built as a tree, and characters that XML forbids become U+FFFD.
    """
    faint = Style(size=SUBTITLE_SIZE, fill=FAINT_INK)
    title = [
        (headline(explanation, caption), Style(size=TITLE_SIZE, bold=True)),
        (subtitle(explanation, caption), faint),
        *((label(message, _MAX_MESSAGE_EM), faint) for message in (*caption.warnings, *caption.cuts)),
    ]
    return _render(explanation, caption, title)


def render_figure(explanation: Explanation, caption: Caption) -> str:
    """Render the picture of `render_svg` without its title, for a page that has one."""
    return _render(explanation, caption, [])


def headline(explanation: Explanation, caption: Caption) -> str:
    """Measure and score, on one line."""
    return f"{label(caption.measure, _MAX_NAME_EM)} score {plain(explanation.score, SCORE_DECIMALS)}"


def subtitle(explanation: Explanation, caption: Caption) -> str:
    """Model, granularity, probability and, for a distance, the best possible score, on one line."""
    parts = [label(caption.model, _MAX_NAME_EM), f"links between {caption.granularity}s"]
    if caption.probability:
        probability, data = caption.probability
        parts.append(f"the same with {100 * probability:.0f} % probability, judging by {label(data, _MAX_NAME_EM)}")
    if caption.distance and explanation.score == 0:
        parts.append("identical to the model: distance 0, the best possible")
    elif caption.distance:
        parts.append("minus a distance: 0 is the best possible")
    return " \u00b7 ".join(parts)


def _render(explanation: Explanation, caption: Caption, title: list[HeaderLine]) -> str:
    selection = select(explanation, caption)
    shown = selection.explanation
    rows, columns = Axis.of(shown.left, caption.a.text), Axis.of(shown.right, caption.b.text)
    lines = [*title, *((note, Style(size=NOTE_SIZE, fill=FAINT_INK)) for note in selection.notes)]
    layout = layout_for(rows.labels, columns.labels, [(text, style.size) for text, style in lines])
    root = _root(layout, headline(shown, caption))
    _draw_header(root, lines)
    scale = ColorScale.over(shown.contribution)
    heatmap = Heatmap(shown, caption, rows, columns, scale, layout)
    draw_heatmap(root, heatmap)
    draw_legend(root, (layout.panel_left, layout.top), scale, distance=caption.distance, matched=bool(heatmap.free))
    draw_bars(root, (layout.panel_left, layout.top + _BARS_BELOW_LEGEND), shown)
    return ET.tostring(root, encoding="unicode")


def _root(layout: Layout, description: str) -> ET.Element:
    width, height = px(layout.width), px(layout.height)
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": width,
            "height": height,
            "viewBox": f"0 0 {width} {height}",
            "font-family": LATIN_FAMILY,
            "role": "img",
            "aria-label": f"Heat map of the links between two texts: {description}",
        },
    )
    ET.SubElement(root, "rect", {"width": width, "height": height, "fill": PAPER})
    return root


def _draw_header(root: ET.Element, lines: list[HeaderLine]) -> None:
    y = MARGIN
    for text, style in lines:
        write(root, (MARGIN, y + style.size), text, style)
        y += line_height(style.size)
