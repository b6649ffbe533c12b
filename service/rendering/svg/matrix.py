"""Draw the matrix: cells of words have colors, sums over several words bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption, matches
from semblance.service.rendering.colors import ACCENT, FAINT_INK, INK, MINUS, RULE, ColorScale
from semblance.service.rendering.fonts import Language, language_of
from semblance.service.rendering.grid import Grid, GridRow
from semblance.service.rendering.labels import (
    beginning,
    decimals_for,
    em_width,
    in_sentence,
    label,
    one_line,
    short_signed,
    shorten,
    signed,
)
from semblance.service.rendering.svg.sheet import HEADING_SIZE, INNER_WIDTH, MARGIN, Sheet
from semblance.service.rendering.svg.writing import Anchor, Style, px, tooltip, write

_MAX_LABEL_EM = 15.0
_MAX_ROW_EM, _MAX_COLUMN_EM = 24.0, 11.0  # of sentences
_MAX_TOOLTIP_EM = 600.0
_LABEL_SIZE, _NUMBER_SIZE = 12.5, 11.0
_MAX_CELL, _HEIGHT, _LABEL_GAP = 64.0, 28.0, 7.0
_BAR = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """An explanation with the grid to draw.

    Attributes:
        explanation, caption, grid: what to draw.
        scale: colors of all words.
        left, top: corner of the first cell, in px.
        cell: width of a cell, in px.
    """

    explanation: Explanation
    caption: Caption
    grid: Grid
    scale: ColorScale
    left: float
    top: float
    cell: float

    @property
    def decimals(self) -> int:
        """Decimals of all numbers of the matrix."""
        return decimals_for(float(np.abs(self.grid.cells).max(initial=0.0)))

    @property
    def largest_sum(self) -> float:
        """The largest absolute value of a cell that is no single link."""
        return max(self.grid.sums(), default=0.0)


def describe_link(left: str, right: str, closeness: str, contribution: str) -> str:
    """Describe a link in words.

    >>> describe_link("cat", "dog", "similarity 0.83", "+0.041")
    'cat – dog: similarity 0.83, contributes +0.041'
    """
    return f"{left} \u2013 {right}: {closeness}, contributes {contribution}"


def draw_matrix(sheet: Sheet, explanation: Explanation, caption: Caption, grid: Grid, scale: ColorScale) -> None:
    """Draw labels, cells and numbers; a note if a text has nothing to link."""
    group = sheet.group("matrix")
    unit = "sentences and words" if grid.by_sentence else f"{caption.granularity}s"
    title = f"Contribution of each pair of {unit}: text a downward, text b across"
    write(group, (MARGIN, sheet.line(HEADING_SIZE)), title, Style(HEADING_SIZE, bold=True, fill=FAINT_INK))
    if not grid.cells.size:
        empty = [name for name, rows in (("a", grid.rows), ("b", grid.columns)) if not rows]
        note = f"nothing to link in {' and '.join(empty)}"
        write(group, (MARGIN, sheet.line(HEADING_SIZE)), note, Style(HEADING_SIZE, fill=FAINT_INK))
        return
    names = (_labels(grid.rows, _MAX_ROW_EM), _labels(grid.columns, _MAX_COLUMN_EM))
    widest, longest = (max(em_width(name) for name in side) for side in names)
    left = MARGIN + widest * _LABEL_SIZE + _LABEL_GAP
    cell = min((MARGIN + INNER_WIDTH - left) / len(grid.columns), _MAX_CELL)
    angle = angle_for(cell, longest)
    lift = _LABEL_SIZE * (1 + longest * math.sin(math.radians(-angle)))
    matrix = Matrix(explanation, caption, grid, scale, left, sheet.y + lift + _LABEL_GAP, cell)
    _draw_cells(group, matrix)
    _draw_row_labels(group, matrix, names[0])
    _draw_column_labels(group, matrix, names[1], angle)
    sheet.y = matrix.top + len(grid.rows) * _HEIGHT


def angle_for(width: float, longest_em: float) -> float:
    """Rotation of column labels in degrees: the least at which they do not touch."""
    if longest_em * _LABEL_SIZE <= width - 4:
        return 0.0
    return -45.0 if width >= 26 else -90.0


def _labels(rows: Sequence[GridRow], max_em: float) -> list[str]:
    return [beginning(row.text, max_em) if row.kind == "sentence" else label(row.text, _MAX_LABEL_EM) for row in rows]


def _draw_cells(parent: ET.Element, matrix: Matrix) -> None:
    group = ET.SubElement(parent, "g", {"class": "cells"})
    free = matches(matrix.explanation, matrix.caption)
    for i, row in enumerate(matrix.grid.rows):
        for j, column in enumerate(matrix.grid.columns):
            value = float(matrix.grid.cells[i, j])
            of_words = matrix.grid.of_words(i, j)
            color = matrix.scale.color(value) if of_words else "none"
            x, y = matrix.left + j * matrix.cell, matrix.top + i * _HEIGHT
            place = {"x": px(x), "y": px(y), "width": px(matrix.cell), "height": px(_HEIGHT)}
            rect = ET.SubElement(group, "rect", place | {"fill": color, "stroke": RULE, "pointer-events": "all"})
            tooltip(rect, _description(matrix, row, column, value))
            if not of_words:
                _draw_bar(group, matrix, (x, y), value)
            matched = of_words and bool(free[row.units[0], column.units[0]])
            if matched:
                inside = {"x": px(x + 1.5), "y": px(y + 1.5), "width": px(matrix.cell - 3), "height": px(_HEIGHT - 3)}
                ET.SubElement(group, "rect", inside | {"fill": "none", "stroke": ACCENT, "stroke-width": "2"})
            number = "0" if matched else short_signed(value, matrix.decimals)
            if number:
                style = Style(_NUMBER_SIZE, "middle", fill=matrix.scale.ink(value) if of_words else INK)
                at = (x + matrix.cell / 2, y + _HEIGHT / 2 + 3.5)
                write(group, at, number, style).set("pointer-events", "none")


def _draw_bar(group: ET.Element, matrix: Matrix, corner: tuple[float, float], value: float) -> None:
    """A bar at the bottom of a cell, as long as its sum is large."""
    if not value:
        return
    width = matrix.cell * abs(value) / matrix.largest_sum
    place = {"x": px(corner[0]), "y": px(corner[1] + _HEIGHT - _BAR), "width": px(width), "height": px(_BAR)}
    ET.SubElement(group, "rect", place | {"fill": ACCENT if value > 0 else MINUS[3]})


def _description(matrix: Matrix, row: GridRow, column: GridRow, value: float) -> str:
    contribution = signed(value, matrix.decimals)
    left, right = in_sentence(row.text), in_sentence(column.text)
    if row.kind == column.kind == "word":
        similarity = float(matrix.explanation.similarity[row.units[0], column.units[0]])
        return describe_link(left, right, matrix.caption.closeness(similarity), contribution)
    return f"{left} \u2013 {right}: contributes {contribution}"


def _draw_row_labels(parent: ET.Element, matrix: Matrix, names: Sequence[str]) -> None:
    group = ET.SubElement(parent, "g", {"class": "labels"})
    language = language_of(matrix.caption.a.text)
    for i, name in enumerate(names):
        at = (matrix.left - _LABEL_GAP, matrix.top + (i + 0.5) * _HEIGHT + 0.35 * _LABEL_SIZE)
        _write_label(group, at, matrix.grid.rows[i], name, Style(_LABEL_SIZE, "end", language=language))


def _draw_column_labels(parent: ET.Element, matrix: Matrix, names: Sequence[str], angle: float) -> None:
    group = ET.SubElement(parent, "g", {"class": "labels"})
    language: Language = language_of(matrix.caption.b.text)
    anchor: Anchor = "start" if angle else "middle"
    lean = 0.35 * _LABEL_SIZE * math.sin(math.radians(-angle))
    for j, name in enumerate(names):
        at = (matrix.left + (j + 0.5) * matrix.cell + lean, matrix.top - _LABEL_GAP)
        _write_label(
            group, at, matrix.grid.columns[j], name, Style(_LABEL_SIZE, anchor, angle=angle, language=language)
        )


def _write_label(group: ET.Element, at: tuple[float, float], row: GridRow, name: str, style: Style) -> None:
    element = write(group, at, name, style)
    whole = one_line(row.text)
    if whole != name:
        tooltip(element, shorten(whole, _MAX_TOOLTIP_EM))
