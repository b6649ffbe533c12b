"""Positions and sizes in a picture, in px. Pure arithmetic; nothing is drawn here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from semblance.service.rendering.labels import em_width

MARGIN = 28.0
PANEL_WIDTH, PANEL_HEIGHT, PANEL_GAP = 300.0, 280.0, 44.0
TITLE_SIZE, SUBTITLE_SIZE, NOTE_SIZE = 20.0, 13.0, 11.0
MAX_LABEL_EM = 14.0
_LABEL_GAP = 7.0
_PLACEHOLDER = (180.0, 90.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """Size of a cell and of its labels, and whether it has room for its number."""

    width: float
    height: float
    label_size: float
    numbered: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a picture: grid at (left, top), column labels of height `lift`, panel right."""

    cell: Cell
    left: float
    top: float
    lift: float
    top_angle: float
    grid_width: float
    grid_height: float
    width: float
    height: float

    @property
    def axis_title(self) -> float:
        """Baseline of the title of the horizontal axis, above its labels."""
        return self.top - _LABEL_GAP - self.lift - 8

    @property
    def above_row_labels(self) -> tuple[float, float]:
        """End of the title of the vertical axis."""
        return self.left - _LABEL_GAP, self.top - _LABEL_GAP

    @property
    def panel_left(self) -> float:
        """Left edge of the side panel."""
        return self.left + self.grid_width + PANEL_GAP

    def corner(self, row: int, column: int) -> tuple[float, float]:
        """Upper left corner of a cell."""
        return self.left + column * self.cell.width, self.top + row * self.cell.height

    def number(self, row: int, column: int) -> tuple[float, float]:
        """Center of a cell, on the baseline of its number."""
        x, y = self.corner(row, column)
        return x + self.cell.width / 2 - 0.5, y + self.cell.height / 2 + 3.5

    def row_label(self, row: int) -> tuple[float, float]:
        """End of a row label, on its baseline."""
        return self.left - _LABEL_GAP, self.top + (row + 0.5) * self.cell.height + 0.35 * self.cell.label_size

    def column_label(self, column: int) -> tuple[float, float]:
        """Start of a rotated column label, on its baseline."""
        lean = 0.35 * self.cell.label_size * math.sin(math.radians(-self.top_angle))
        return self.left + (column + 0.5) * self.cell.width + lean, self.top - _LABEL_GAP


def cell_for(rows: int, columns: int) -> Cell:
    """Cell size: large cells with numbers for sentences, small ones for paragraphs."""
    if rows <= 14 and columns <= 12:
        return Cell(50.0, 32.0, 13.0, numbered=True)
    side = min(max(660 // max(rows, columns), 17), 26)
    return Cell(side, side, 12.0 if side >= 20 else 11.5, numbered=False)


def angle_for(cell: Cell, longest_em: float) -> float:
    """Rotation of column labels in degrees: the least at which they do not touch."""
    if longest_em * cell.label_size <= cell.width - 4:
        return 0.0
    return -45.0 if cell.width >= 26 else -90.0


def layout_for(left: Sequence[str], right: Sequence[str], header: Sequence[tuple[str, float]]) -> Layout:
    """Lay out the labels of both axes, and header lines as (text, font size)."""
    cell = cell_for(len(left), len(right))
    grid_width, grid_height = _PLACEHOLDER
    if left and right:
        grid_width, grid_height = len(right) * cell.width, len(left) * cell.height
    longest_left = max((em_width(text) for text in left), default=0.0) * cell.label_size
    longest_top = max((em_width(text) for text in right), default=0.0)
    angle = angle_for(cell, longest_top)
    lift = cell.label_size * (1 + longest_top * math.sin(math.radians(-angle)))
    grid_left = MARGIN + max(longest_left, 64.0) + _LABEL_GAP
    grid_top = MARGIN + header_height(header) + 30 + lift + _LABEL_GAP
    header_width = max((em_width(text) * size for text, size in header), default=0.0)
    panel_right = grid_left + grid_width + PANEL_GAP + PANEL_WIDTH
    return Layout(
        cell=cell,
        left=round(grid_left),
        top=round(grid_top),
        lift=lift,
        top_angle=angle,
        grid_width=grid_width,
        grid_height=grid_height,
        width=math.ceil(max(panel_right, MARGIN + header_width) + MARGIN),
        height=math.ceil(grid_top + max(grid_height, PANEL_HEIGHT) + MARGIN),
    )


def header_height(header: Sequence[tuple[str, float]]) -> float:
    """Height of the header lines."""
    return sum(line_height(size) for _, size in header)


def line_height(size: float) -> float:
    """Distance between baselines."""
    return round(1.55 * size)
