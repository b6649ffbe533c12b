"""The matrix of contributions as a table."""

from __future__ import annotations

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption, matches
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.grid import Grid, GridRow
from semblance.service.rendering.html.page import escaped
from semblance.service.rendering.labels import beginning, label, short_signed

_MAX_WORD_EM, _MAX_SENTENCE_EM = 18.0, 20.0
_DECIMALS = 3


def matrix_table(explanation: Explanation, caption: Caption, grid: Grid, scale: ColorScale) -> str:
    """The matrix, with the colors of the texts for two words, and bars for sums over several."""
    if not grid.cells.size:
        return f"<p>No {escaped(caption.granularity)}s are linked.</p>"
    heads = "".join(f'<th scope="col"><span>{_name(column)}</span></th>' for column in grid.columns)
    free = matches(explanation, caption)
    largest = max(grid.sums(), default=0.0)
    rows = []
    for i, row in enumerate(grid.rows):
        cells = []
        for j, column in enumerate(grid.columns):
            value = float(grid.cells[i, j])
            if grid.of_words(i, j):
                matched = bool(free[row.units[0], column.units[0]])
                cells.append(_word_cell(value, scale, matched=matched))
            else:
                cells.append(_sum_cell(value, largest))
        rows.append(f'<tr><th scope="row">{_name(row)}</th>{"".join(cells)}</tr>')
    return f'<table class="matrix"><thead><tr><td></td>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _name(row: GridRow) -> str:
    if row.kind == "sentence":
        return f'<bdi title="{escaped(row.text)}">{escaped(beginning(row.text, _MAX_SENTENCE_EM))}</bdi>'
    return f"<bdi>{escaped(label(row.text, _MAX_WORD_EM))}</bdi>"


def _word_cell(value: float, scale: ColorScale, *, matched: bool) -> str:
    if matched:
        return '<td class="matched-cell">0</td>'
    return f'<td class="{scale.name(value)}">{short_signed(value, _DECIMALS)}</td>'


def _sum_cell(value: float, largest: float) -> str:
    number = short_signed(value, _DECIMALS)
    if not value:
        return "<td></td>"
    sign = "negative" if value < 0 else "positive"
    return f'<td class="sum-cell {sign}" style="--share:{100 * abs(value) / largest:.1f}%">{number}</td>'
