"""The view of an explanation that pictures and pages draw: texts, parts of a score, matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, Link, ReadText
from semblance.models.text import Booleans, Units
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.passages import sentences
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.colors import QUIET_NAME, ColorScale
from semblance.service.rendering.labels import beginning, label, short_signed
from semblance.service.rendering.parts import saying, says_much, score_parts, word_scale
from semblance.service.rendering.verdict import differing, places_of

MAX_SIDE = 14  # rows and columns, without the one of others
MAX_WORDS = 40  # rows and columns of a matrix of all words of long texts
_CELL_DECIMALS = 3  # on pages

RowKind: TypeAlias = Literal["word", "sentence", "others"]


@dataclass(frozen=True, eq=False)
class Side:
    """A text with n units, the m units of the other text, and (n, m) matrices between them.

    Attributes:
        name: of the text.
        read: the text.
        units, others: words or tokens of both texts.
        similarity, contribution: of each pair of units.
        matches: whether a pair is at distance 0.
        differs: (n,) whether a unit is among the reasons of the verdict.
        says_much: (n,) whether a unit is neither a function word nor punctuation.
    """

    name: str
    read: ReadText
    units: Units
    others: Units
    similarity: Doubles
    contribution: Doubles
    matches: Booleans
    differs: Booleans
    says_much: Booleans

    @cached_property
    def totals(self) -> Doubles:
        """(n,) contributions of the units."""
        totals: Doubles = self.contribution.sum(axis=1)
        return totals

    @cached_property
    def matched(self) -> Booleans:
        """(n,) whether a unit has a partner at distance 0."""
        return np.asarray(self.matches.any(axis=1))

    def shades(self, scale: ColorScale) -> list[str]:
        """(n) classes of the units in style.css, as `shades_of`."""
        return shades_of(self.totals, self.says_much, self.differs, scale)


def shades_of(totals: Doubles, much: Booleans, differs: Booleans, scale: ColorScale) -> list[str]:
    """(n) classes of units in style.css; those that say little have one color, or none."""
    shown = zip(totals.tolist(), much.tolist(), differs.tolist(), strict=True)
    quiet = {False: f"{QUIET_NAME} shade-0", True: QUIET_NAME}
    return [
        (scale.name(value) if much_said else quiet[bool(scale.step(value))]) + " differs" * is_other
        for value, much_said, is_other in shown
    ]


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

    def name(self, max_word_em: float, max_sentence_em: float) -> str:
        """The beginning of a sentence, the beginning and end of a word, no wider than that."""
        return beginning(self.text, max_sentence_em) if self.kind == "sentence" else label(self.text, max_word_em)


class Cell(NamedTuple):
    """A cell of a matrix.

    Attributes:
        value: sum of the contributions of its units.
        similarity: of two words; None for a sum over several.
        matched: whether two words are at distance 0.
    """

    value: float
    similarity: float | None
    matched: bool


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A matrix of r rows and c columns.

    Attributes:
        rows, columns: the units of both texts, each once.
        values: (r, c) sums of the contributions of their units; they sum to all links.
        cells: for each row its cells.
        largest: the largest absolute value of a sum over several words; 0 without any.
    """

    rows: Sequence[GridRow]
    columns: Sequence[GridRow]
    values: Doubles
    cells: Sequence[Sequence[Cell]]
    largest: float

    @property
    def by_sentence(self) -> bool:
        """Whether a side has its sentences."""
        return any(row.kind == "sentence" for row in (*self.rows, *self.columns))

    def in_classes(self, scale: ColorScale) -> list[list[tuple[str, str, float | None]]]:
        """The class of each cell in style.css, its number, and the bar of a sum, in percent."""
        return [[self._in_class(cell, scale) for cell in row] for row in self.cells]

    def _in_class(self, cell: Cell, scale: ColorScale) -> tuple[str, str, float | None]:
        if cell.matched:
            return "matched-cell", "0", None
        number = short_signed(cell.value, _CELL_DECIMALS)
        if cell.similarity is not None:
            return scale.name(cell.value), number, None
        if not cell.value:
            return "", "", None
        return f"sum-cell {'negative' if cell.value < 0 else 'positive'}", number, 100 * abs(cell.value) / self.largest


class View:
    """An explanation with its caption, and what every drawing of it shows.

    Attributes:
        matches: (n, m) whether two units are at distance 0; none unless the score is minus a distance.
        sides: both texts.
        parts: of the score.
        scale: one scale of colors for the units of both texts and for their links.
        lowers: whether a link lowers the score.
    """

    def __init__(self, explanation: Explanation, caption: Caption) -> None:
        similarity, parts = explanation.similarity, explanation.contribution
        same: Booleans = (similarity == 0) & (parts == 0) & caption.distance
        left, right, names = explanation.left, explanation.right, caption.names
        self.explanation, self.caption, self.matches = explanation, caption, same
        much = says_much(explanation)
        differs = [differing(*side) for side in zip((left, right), places_of(caption.same), strict=True)]
        self.sides = (
            Side(names[0], caption.a, left, right, similarity, parts, same, differs[0], much[0]),
            Side(names[1], caption.b, right, left, similarity.T, parts.T, same.T, differs[1], much[1]),
        )
        self.scale = word_scale(explanation)
        self.parts = score_parts(explanation, merge=True)
        self.lowers = bool((parts < 0).any())

    def links(self, most: int) -> list[Link]:
        """The strongest links of words that say much, then those at distance 0 in reading order."""
        free = (Link(int(i), int(j), 0.0, 0.0) for i, j in np.argwhere(self.matches))
        said = np.where(saying(self.explanation), self.explanation.contribution, 0.0)
        return [*replace(self.explanation, contribution=said).strongest(most).links, *free][:most]

    def grid(self, most: int = MAX_SIDE, *, by_sentence: bool = True) -> Grid:
        """The matrix, as `grid_of`."""
        return grid_of(self.explanation, most, by_sentence=by_sentence, same=self.matches)


def grid_of(
    explanation: Explanation, most: int = MAX_SIDE, *, by_sentence: bool = True, same: Booleans | None = None
) -> Grid:
    """The matrix of an explanation with at most `most` rows and columns, and one of all others.

    Units that say much have rows of their own; function words and punctuation share one. If more than `most` of a text
    say much, its sentences are its rows, or else, and without `by_sentence`, the units that contribute most.

    Args:
        explanation: of n and m units.
        most: rows and columns.
        by_sentence: whether long texts have rows of sentences.
        same: (n, m) whether two units are at distance 0; None if none are.
    """
    parts = explanation.contribution
    rows = _rows(explanation.left, parts.sum(axis=1), most, by_sentence=by_sentence)
    columns = _rows(explanation.right, parts.sum(axis=0), most, by_sentence=by_sentence)
    values = np.zeros((len(rows), len(columns)))
    if values.size:
        np.add.at(values, np.ix_(_places(rows, len(explanation.left)), _places(columns, len(explanation.right))), parts)
    words = [[row.kind == "word" for row in side] for side in (rows, columns)]
    of_words = np.logical_and.outer(*(np.array(side, np.bool_) for side in words))
    largest = float(np.abs(values[~of_words]).max(initial=0.0))

    def cell(i: int, j: int) -> Cell:
        value = float(values[i, j])
        if not of_words[i, j]:
            return Cell(value, None, matched=False)
        place = rows[i].units[0], columns[j].units[0]
        matched = same is not None and bool(same[place])
        return Cell(value, float(explanation.similarity[place]), matched)

    cells = [[cell(i, j) for j in range(len(columns))] for i in range(len(rows))]
    return Grid(rows, columns, values, cells, largest)


def _rows(units: Units, totals: Doubles, most: int, *, by_sentence: bool) -> list[GridRow]:
    words = [GridRow(unit.text, "word", (i,)) for i, unit in enumerate(units)]
    groups = [row for row, says_much in zip(words, say_much(units.texts), strict=True) if says_much]
    if len(groups) > most and by_sentence:
        of_sentences = list(_sentences(units))
        groups = of_sentences if len(of_sentences) > 1 else groups
    strongest = sorted(groups, key=lambda row: -abs(float(totals[list(row.units)].sum())))[:most]
    rows = sorted(strongest, key=lambda row: row.units)
    kept = {i for row in rows for i in row.units}
    others = tuple(i for i in range(len(units)) if i not in kept)
    if len(others) > 1:
        return [*rows, GridRow(f"{len(others)} others", "others", others)]
    return sorted([*rows, *(words[i] for i in others)], key=lambda row: row.units)


def _sentences(units: Units) -> Iterator[GridRow]:
    """A row for each sentence with units."""
    starts = units.spans[:, 0]
    number = 0
    for start, end in sentences(units.text):
        inside = np.flatnonzero((starts >= start) & (starts < end))
        if inside.size:
            number += 1
            yield GridRow(f"{number}. {units.text[start:end]}", "sentence", tuple(inside.tolist()))


def _places(rows: Sequence[GridRow], count: int) -> list[int]:
    """The row of each unit."""
    place = {unit: i for i, row in enumerate(rows) for unit in row.units}
    return [place[unit] for unit in range(count)]
