"""The matrix of an explanation, by word or by sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation
from semblance.models.text import Units
from semblance.models.tokenization.passages import sentences
from semblance.service.rendering.function_words import says_much

MAX_SIDE = 14  # rows and columns, without the one of others
MAX_WORDS = 40  # rows and columns of a matrix of all words of long texts

RowKind: TypeAlias = Literal["word", "sentence", "others"]


@dataclass(frozen=True, slots=True)
class GridRow:
    """Units of a text, by position, that share a row or column.

    Attributes:
        text: the word, the sentence, or what the units are.
        kind: a single unit, a sentence, or all units without a row of their own.
        units: positions of the units, at least one.
    """

    text: str
    kind: RowKind
    units: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A matrix of r rows and c columns.

    Attributes:
        rows, columns: the units of both texts, each once.
        cells: (r, c) sums of the contributions of their units; they sum to all links.
    """

    rows: Sequence[GridRow]
    columns: Sequence[GridRow]
    cells: Doubles

    def of_words(self, i: int, j: int) -> bool:
        """Whether a cell is a single link of two units."""
        return self.rows[i].kind == self.columns[j].kind == "word"

    def sums(self) -> Iterator[float]:
        """Absolute values of the cells that are no single links."""
        return (abs(float(self.cells[i, j])) for i, j in np.ndindex(self.cells.shape) if not self.of_words(i, j))

    @property
    def by_sentence(self) -> bool:
        """Whether a side has its sentences."""
        return any(row.kind == "sentence" for row in (*self.rows, *self.columns))


def grid_of(explanation: Explanation, most: int = MAX_SIDE, *, by_sentence: bool = True) -> Grid:
    """The matrix of an explanation with at most `most` rows and columns, and one of all others.

    Units that say much have rows of their own; function words and punctuation share one. If more than `most` of a text
    say much, its sentences are its rows, or else, and without `by_sentence`, the units that contribute most.
    """
    parts = explanation.contribution
    rows = _rows(explanation.left, parts.sum(axis=1), most, by_sentence=by_sentence)
    columns = _rows(explanation.right, parts.sum(axis=0), most, by_sentence=by_sentence)
    cells = np.zeros((len(rows), len(columns)))
    if cells.size:
        np.add.at(cells, np.ix_(_places(rows, len(explanation.left)), _places(columns, len(explanation.right))), parts)
    return Grid(rows, columns, cells)


def _rows(units: Units, totals: Doubles, most: int, *, by_sentence: bool) -> list[GridRow]:
    words = [GridRow(unit.text, "word", (i,)) for i, unit in enumerate(units)]
    groups = [row for row in words if says_much(row.text)]
    if len(groups) > most and by_sentence:
        of_sentences = _sentences(units)
        groups = of_sentences if len(of_sentences) > 1 else groups
    strongest = sorted(groups, key=lambda row: -abs(float(totals[list(row.units)].sum())))[:most]
    rows = sorted(strongest, key=lambda row: row.units)
    kept = {i for row in rows for i in row.units}
    others = tuple(i for i in range(len(units)) if i not in kept)
    if len(others) > 1:
        return [*rows, GridRow(f"{len(others)} others", "others", others)]
    return sorted([*rows, *(words[i] for i in others)], key=lambda row: row.units)


def _sentences(units: Units) -> list[GridRow]:
    """A row for each sentence with units."""
    starts = units.spans[:, 0]
    rows: list[GridRow] = []
    for start, end in sentences(units.text):
        inside = np.flatnonzero((starts >= start) & (starts < end))
        if inside.size:
            rows.append(GridRow(f"{len(rows) + 1}. {units.text[start:end]}", "sentence", tuple(inside.tolist())))
    return rows


def _places(rows: Sequence[GridRow], count: int) -> list[int]:
    """The row of each unit."""
    place = {unit: i for i, row in enumerate(rows) for unit in row.units}
    return [place[unit] for unit in range(count)]
