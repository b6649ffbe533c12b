"""Draw the matrix: cells of words have colors, sums over several words bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np

from semblance.service.rendering.colors import ACCENT, INK, MINUS, RULE
from semblance.service.rendering.fonts import language_of
from semblance.service.rendering.labels import (
    decimals_for,
    em_width,
    in_sentence,
    one_line,
    short_signed,
    shorten,
    signed,
)
from semblance.service.rendering.svg.sheet import (
    HEADING,
    MARGIN,
    Point,
    Sheet,
    Style,
    box,
    tooltip,
    write,
)
from semblance.service.rendering.view import Cell, Grid, GridRow, View

_MAX_LABEL_EM = 15.0
_MAX_ROW_EM, _MAX_COLUMN_EM = 24.0, 11.0  # of sentences
_MAX_TOOLTIP_EM = 600.0
_LABEL_SIZE, _NUMBER_SIZE = 12.5, 11.0
_MAX_CELL, _HEIGHT, _LABEL_GAP = 112.0, 28.0, 7.0
_BAR = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class _Matrix:
    """The grid of a view, its corner, the width of a cell in px, and the decimals of numbers."""

    view: View
    grid: Grid
    left: float
    top: float
    cell: float
    decimals: int


def draw_matrix(sheet: Sheet, view: View) -> None:
    """Draw labels, cells and numbers; a note if a text has nothing to link."""
    group = sheet.group("matrix")
    grid = view.grid()
    unit = "sentences and words" if grid.by_sentence else f"{view.caption.granularity}s"
    sheet.line(group, f"Contribution of each pair of {unit}: text a downward, text b across", HEADING)
    if not grid.values.size:
        empty = [name for name, rows in (("a", grid.rows), ("b", grid.columns)) if not rows]
        sheet.line(group, f"nothing to link in {' and '.join(empty)}", Style(HEADING.size, fill=HEADING.fill))
        return
    names = (
        [row.name(_MAX_LABEL_EM, _MAX_ROW_EM) for row in grid.rows],
        [column.name(_MAX_LABEL_EM, _MAX_COLUMN_EM) for column in grid.columns],
    )
    widest, longest = (max(em_width(name) for name in side) for side in names)
    left = MARGIN + widest * _LABEL_SIZE + _LABEL_GAP
    width = min((MARGIN + sheet.inner - left) / len(grid.columns), _MAX_CELL)
    angle = angle_for(width, longest)
    lift = _LABEL_SIZE * (1 + longest * math.sin(math.radians(-angle)))
    decimals = decimals_for(float(np.abs(grid.values).max(initial=0.0)))
    matrix = _Matrix(view, grid, left, sheet.y + lift + _LABEL_GAP, width, decimals)
    _draw_cells(group, matrix)
    _draw_labels(group, matrix, names, angle)
    sheet.y = matrix.top + len(grid.rows) * _HEIGHT


def angle_for(width: float, longest_em: float) -> float:
    """Rotation of column labels in degrees: the least at which they do not touch."""
    if longest_em * _LABEL_SIZE <= width - 4:
        return 0.0
    return -45.0 if width >= 26 else -90.0


def _draw_cells(parent: ET.Element, matrix: _Matrix) -> None:
    group = ET.SubElement(parent, "g", {"class": "cells"})
    for i, cells in enumerate(matrix.grid.cells):
        for j, cell in enumerate(cells):
            corner = (matrix.left + j * matrix.cell, matrix.top + i * _HEIGHT)
            color = "none" if cell.similarity is None else matrix.view.scale.color(cell.value)
            rect = box(group, corner, (matrix.cell, _HEIGHT), fill=color, stroke=RULE, pointer_events="all")
            tooltip(rect, _description(matrix, matrix.grid.rows[i], matrix.grid.columns[j], cell))
            _draw_number(group, matrix, corner, cell)


def _draw_number(group: ET.Element, matrix: _Matrix, corner: Point, cell: Cell) -> None:
    """The number of a cell; a sum has a bar of proportional length, a match an outline."""
    (x, y), value, width = corner, cell.value, matrix.cell
    if cell.similarity is None and value:
        size = (width * abs(value) / matrix.grid.largest, _BAR)
        box(group, (x, y + _HEIGHT - _BAR), size, fill=ACCENT if value > 0 else MINUS[3])
    if cell.matched:
        inside = (width - 3, _HEIGHT - 3)
        box(group, (x + 1.5, y + 1.5), inside, fill="none", stroke=ACCENT, stroke_width="2")
    number = "0" if cell.matched else short_signed(value, matrix.decimals)
    if number:
        ink = INK if cell.similarity is None else matrix.view.scale.ink(value)
        at = (x + width / 2, y + _HEIGHT / 2 + 3.5)
        write(group, at, number, Style(_NUMBER_SIZE, "middle", fill=ink)).set("pointer-events", "none")


def _description(matrix: _Matrix, row: GridRow, column: GridRow, cell: Cell) -> str:
    closeness = "" if cell.similarity is None else f"{matrix.view.caption.closeness(cell.similarity)}, "
    pair = f"{in_sentence(row.text)} \u2013 {in_sentence(column.text)}"
    return f"{pair}: {closeness}contributes {signed(cell.value, matrix.decimals)}"


def _draw_labels(parent: ET.Element, matrix: _Matrix, names: tuple[Sequence[str], Sequence[str]], angle: float) -> None:
    """The names of rows, and above the matrix those of columns, turned by an angle."""
    languages = [language_of(side.read.text) for side in matrix.view.sides]
    group, style = ET.SubElement(parent, "g", {"class": "labels"}), Style(_LABEL_SIZE, "end", language=languages[0])
    for i, (row, name) in enumerate(zip(matrix.grid.rows, names[0], strict=True)):
        at = (matrix.left - _LABEL_GAP, matrix.top + (i + 0.5) * _HEIGHT + 0.35 * _LABEL_SIZE)
        _write_label(group, at, row, name, style)
    lean = 0.35 * _LABEL_SIZE * math.sin(math.radians(-angle))
    group = ET.SubElement(parent, "g", {"class": "labels"})
    style = Style(_LABEL_SIZE, "start" if angle else "middle", angle=angle, language=languages[1])
    for j, (column, name) in enumerate(zip(matrix.grid.columns, names[1], strict=True)):
        at = (matrix.left + (j + 0.5) * matrix.cell + lean, matrix.top - _LABEL_GAP)
        _write_label(group, at, column, name, style)


def _write_label(group: ET.Element, at: Point, row: GridRow, name: str, style: Style) -> None:
    element = write(group, at, name, style)
    whole = one_line(row.text)
    if whole != name:
        tooltip(element, shorten(whole, _MAX_TOOLTIP_EM))
