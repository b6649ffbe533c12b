"""Draw the heat map: cells, numbers, labels and axis titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from semblance.models.explanation import Explanation
from semblance.models.text import Unit
from semblance.service.rendering.caption import Caption, matches
from semblance.service.rendering.colors import FAINT_INK, POSITIVE, RULE, ColorScale, ink_on
from semblance.service.rendering.fonts import Language, language_of
from semblance.service.rendering.labels import decimals_for, in_sentence, label, one_line, plain, shorten, signed
from semblance.service.rendering.layout import MAX_LABEL_EM, Layout
from semblance.service.rendering.svg_text import Anchor, Point, Style, px, tooltip, write

_MAX_TOOLTIP_EM = 600.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Units of one text, their short labels, and the language of the text."""

    units: Sequence[Unit]
    labels: tuple[str, ...]
    language: Language

    @classmethod
    def of(cls, units: Sequence[Unit], text: str) -> Axis:
        """Axis for the units of `text`."""
        return cls(units, tuple(label(unit.text, MAX_LABEL_EM) for unit in units), language_of(text))


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """An explanation with its caption, axes, color scale and layout."""

    explanation: Explanation
    caption: Caption
    rows: Axis
    columns: Axis
    scale: ColorScale
    layout: Layout

    @property
    def free(self) -> list[tuple[int, int]]:
        """Cells of links at distance 0."""
        return [(int(i), int(j)) for i, j in np.argwhere(matches(self.explanation, self.caption))]

    @property
    def decimals(self) -> int:
        """Decimals of all contributions in the picture."""
        return decimals_for(self.scale.limit)


def describe_link(left: str, right: str, closeness: str, contribution: str) -> str:
    """Describe a link in words.

    >>> describe_link("cat", "dog", "similarity 0.83", "+0.041")
    'cat – dog: similarity 0.83, contributes +0.041'
    """
    return f"{left} \u2013 {right}: {closeness}, contributes {contribution}"


def draw_heatmap(parent: ET.Element, heatmap: Heatmap) -> None:
    """Draw cells, numbers where there is room, labels, and axis titles."""
    group = ET.SubElement(parent, "g", {"class": "heatmap"})
    _draw_axis_titles(group, heatmap)
    if not (heatmap.rows.units and heatmap.columns.units):
        _draw_placeholder(group, heatmap)
        return
    _draw_cells(group, heatmap)
    _draw_matches(group, heatmap)
    if heatmap.layout.cell.numbered:
        _draw_numbers(group, heatmap)
    _draw_labels(group, heatmap)


def _draw_axis_titles(group: ET.Element, heatmap: Heatmap) -> None:
    layout = heatmap.layout
    style = Style(size=12.0, bold=True, fill=FAINT_INK)
    write(group, (layout.left, layout.axis_title), "text b \u2192", style)
    write(group, layout.above_row_labels, "text a \u2193", Style(size=12.0, bold=True, fill=FAINT_INK, anchor="end"))


def _draw_placeholder(group: ET.Element, heatmap: Heatmap) -> None:
    layout = heatmap.layout
    empty = [name for name, axis in (("a", heatmap.rows), ("b", heatmap.columns)) if not axis.units]
    frame = {"x": px(layout.left), "y": px(layout.top), "stroke": RULE, "stroke-dasharray": "4 4", "fill": "none"}
    ET.SubElement(group, "rect", frame | {"width": px(layout.grid_width), "height": px(layout.grid_height)})
    middle = (layout.left + layout.grid_width / 2, layout.top + layout.grid_height / 2 + 4)
    write(group, middle, f"nothing to link in {' and '.join(empty)}", Style(anchor="middle", fill=FAINT_INK))


def _draw_cells(parent: ET.Element, heatmap: Heatmap) -> None:
    group = ET.SubElement(parent, "g", {"class": "cells", "shape-rendering": "crispEdges"})
    cell, explanation = heatmap.layout.cell, heatmap.explanation
    size = {"width": px(cell.width - 1), "height": px(cell.height - 1)}
    column_names = [in_sentence(unit.text) for unit in heatmap.columns.units]
    for i, row in enumerate(heatmap.rows.units):
        row_name = in_sentence(row.text)
        for j, column_name in enumerate(column_names):
            x, y = heatmap.layout.corner(i, j)
            part = float(explanation.contribution[i, j])
            place = {"x": px(x), "y": px(y), "fill": heatmap.scale.color(part)}
            closeness = heatmap.caption.closeness(float(explanation.similarity[i, j]))
            description = describe_link(row_name, column_name, closeness, signed(part, heatmap.decimals))
            tooltip(ET.SubElement(group, "rect", place | size), description)


def _draw_matches(parent: ET.Element, heatmap: Heatmap) -> None:
    """Outline the pairs at distance 0: they cost nothing, which is no color."""
    group = ET.SubElement(parent, "g", {"class": "matches", "pointer-events": "none", "fill": "none"})
    cell = heatmap.layout.cell
    size = {"width": px(cell.width - 3), "height": px(cell.height - 3), "stroke": POSITIVE, "stroke-width": "2"}
    for i, j in heatmap.free:
        x, y = heatmap.layout.corner(i, j)
        ET.SubElement(group, "rect", {"x": px(x + 1), "y": px(y + 1)} | size)


def _draw_numbers(parent: ET.Element, heatmap: Heatmap) -> None:
    # the pointer passes through numbers, so that the cell beneath shows its tooltip
    group = ET.SubElement(parent, "g", {"class": "numbers", "pointer-events": "none"})
    for link in heatmap.explanation.links:
        number = plain(link.contribution, heatmap.decimals)
        if number == plain(0.0, heatmap.decimals):
            continue
        style = Style(size=11.0, anchor="middle", fill=ink_on(heatmap.scale.color(link.contribution)))
        write(group, heatmap.layout.number(link.left, link.right), number, style)
    for i, j in heatmap.free:
        write(group, heatmap.layout.number(i, j), "0", Style(size=11.0, anchor="middle"))


def _draw_labels(parent: ET.Element, heatmap: Heatmap) -> None:
    group = ET.SubElement(parent, "g", {"class": "labels"})
    cell = heatmap.layout.cell
    for i in range(len(heatmap.rows.units)):
        style = Style(size=cell.label_size, anchor="end", language=heatmap.rows.language)
        _draw_label(group, heatmap.layout.row_label(i), heatmap.rows, i, style)
    for j in range(len(heatmap.columns.units)):
        angle = heatmap.layout.top_angle
        anchor: Anchor = "start" if angle else "middle"
        style = Style(size=cell.label_size, anchor=anchor, angle=angle, language=heatmap.columns.language)
        _draw_label(group, heatmap.layout.column_label(j), heatmap.columns, j, style)


def _draw_label(group: ET.Element, at: Point, axis: Axis, index: int, style: Style) -> None:
    element = write(group, at, axis.labels[index], style)
    whole = one_line(axis.units[index].text)
    if whole != axis.labels[index]:
        tooltip(element, shorten(whole, _MAX_TOOLTIP_EM))
