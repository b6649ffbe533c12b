"""Render an explanation as an SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption, headline, matches, subtitle
from semblance.service.rendering.colors import FAINT_INK, PAPER, word_scale
from semblance.service.rendering.grid import grid_of
from semblance.service.rendering.labels import wrap
from semblance.service.rendering.parts import score_parts
from semblance.service.rendering.svg.legend import draw_legend
from semblance.service.rendering.svg.matrix import draw_matrix
from semblance.service.rendering.svg.sheet import (
    INNER_WIDTH,
    MARGIN,
    SECTION_GAP,
    SUBTITLE_SIZE,
    TITLE_SIZE,
    WIDTH,
    Sheet,
)
from semblance.service.rendering.svg.sum_bar import draw_sum
from semblance.service.rendering.svg.texts import ColoredText, draw_text
from semblance.service.rendering.svg.writing import LATIN_FAMILY, Style, px, write


def render_svg(explanation: Explanation, caption: Caption) -> str:
    """Render a score with both texts, the parts that sum to it, and the matrix of contributions.

    One scale of colors holds for the units of both texts and for the cells of the matrix: blue raises the score, red
    lowers it. Any text gives well-formed XML: elements are built as a tree, and characters that XML forbids become
    U+FFFD.
    """
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": LATIN_FAMILY, "role": "img"})
    paper = ET.SubElement(root, "rect", {"fill": PAPER})
    sheet = Sheet(root)
    title = headline(explanation, caption)
    root.set("aria-label", f"Reasons of a score of two texts. {title}")
    _draw_title(sheet, title, explanation, caption)
    scale, same = word_scale(explanation), matches(explanation, caption)
    sides = (
        (caption.a, explanation.left, explanation.contribution.sum(axis=1), np.asarray(same.any(axis=1))),
        (caption.b, explanation.right, explanation.contribution.sum(axis=0), np.asarray(same.any(axis=0))),
    )
    for name, side in zip(caption.names, sides, strict=True):
        sheet.skip(SECTION_GAP / 2)
        draw_text(sheet, ColoredText(name, *side), scale)
    sheet.skip(SECTION_GAP)
    draw_sum(sheet, score_parts(explanation), explanation.score)
    sheet.skip(SECTION_GAP / 2)
    draw_matrix(sheet, explanation, caption, grid_of(explanation), scale)
    sheet.skip(SECTION_GAP)
    lowers = bool((explanation.contribution < 0).any())
    draw_legend(sheet, scale, caption, lowers=lowers, matched=bool(same.any()))
    size = {"width": px(WIDTH), "height": px(np.ceil(sheet.y + MARGIN))}
    paper.attrib |= size
    root.attrib |= size | {"viewBox": f"0 0 {size['width']} {size['height']}"}
    return ET.tostring(root, encoding="unicode")


def _draw_title(sheet: Sheet, title: str, explanation: Explanation, caption: Caption) -> None:
    group = sheet.group("title")
    faint = Style(SUBTITLE_SIZE, fill=FAINT_INK)
    lines = [(title, Style(TITLE_SIZE, bold=True)), (subtitle(explanation, caption), faint)]
    lines += [(message, faint) for message in (*caption.warnings, *caption.cuts)]
    for text, style in lines:
        for part in wrap(text, INNER_WIDTH / style.size * (0.9 if style.bold else 1.0)):
            write(group, (MARGIN, sheet.line(style.size)), part, style)
