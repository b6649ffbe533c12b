"""The view of an explanation that pictures and pages draw: texts, parts of a score, matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, Link, ReadText
from semblance.models.text import Booleans, Units
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.passages import sentences
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.direction import isolated
from semblance.service.rendering.labels import SCORE_DECIMALS, beginning, label, rounded_parts, short_signed
from semblance.service.rendering.verdict import differing, places_of

MAX_LINKS = 6  # with a part of their own
MAX_SIDE = 14  # rows and columns, without the one of others
MAX_WORDS = 40  # rows and columns of a matrix of all words of long texts
_MAX_WORD_EM = 15.0  # in names of parts
_CELL_DECIMALS = 3  # on pages

PartKind: TypeAlias = Literal["link", "rest", "special"]
RowKind: TypeAlias = Literal["word", "sentence", "others"]


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a score.

    Attributes:
        name: label of the pair of words, or what other parts are.
        kind: links of a pair of words, all other links, or special tokens.
        exact: its value.
        links: places of both words of each link.
        value: rounded so that all sum to the rounded score.
    """

    name: str
    kind: PartKind
    exact: float
    links: tuple[tuple[int, int], ...] = ()
    value: float = 0.0


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
    """

    name: str
    read: ReadText
    units: Units
    others: Units
    similarity: Doubles
    contribution: Doubles
    matches: Booleans
    differs: Booleans

    @cached_property
    def totals(self) -> Doubles:
        """(n,) contributions of the units."""
        totals: Doubles = self.contribution.sum(axis=1)
        return totals

    @cached_property
    def matched(self) -> Booleans:
        """(n,) whether a unit has a partner at distance 0."""
        return np.asarray(self.matches.any(axis=1))


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
        scale: one scale of colors for the units of both texts and for their links.
        lowers: whether a link lowers the score.
    """

    def __init__(self, explanation: Explanation, caption: Caption) -> None:
        similarity, parts = explanation.similarity, explanation.contribution
        same: Booleans = (similarity == 0) & (parts == 0) & caption.distance
        left, right, names = explanation.left, explanation.right, caption.names
        self.explanation, self.caption, self.matches = explanation, caption, same
        differs = [differing(*side) for side in zip((left, right), places_of(caption.same), strict=True)]
        self.sides = (
            Side(names[0], caption.a, left, right, similarity, parts, same, differs[0]),
            Side(names[1], caption.b, right, left, similarity.T, parts.T, same.T, differs[1]),
        )
        self.scale = word_scale(explanation)
        self.lowers = bool((parts < 0).any())

    def links(self, most: int) -> list[Link]:
        """The strongest links, then those at distance 0 in reading order."""
        free = (Link(int(i), int(j), 0.0, 0.0) for i, j in np.argwhere(self.matches))
        return [*self.explanation.strongest(most).links, *free][:most]

    def grid(self, most: int = MAX_SIDE, *, by_sentence: bool = True) -> Grid:
        """The matrix, as `grid_of`."""
        return grid_of(self.explanation, most, by_sentence=by_sentence, same=self.matches)


def word_scale(explanation: Explanation) -> ColorScale:
    """One scale for the units of both texts and for their links."""
    parts = explanation.contribution
    return ColorScale.over(parts, parts.sum(axis=0), parts.sum(axis=1))


def score_parts(explanation: Explanation, decimals: int = SCORE_DECIMALS, *, merge: bool = False) -> list[ScorePart]:
    """The parts of a score: links of words, function words, and special tokens.

    The strongest links have parts of their own; all others are one part, and so are those of function words and
    punctuation. A link says much if one of its units does. Parts of 0 are left out, unless all are 0.

    Args:
        explanation: of the score.
        decimals: of the rounded values.
        merge: whether links of the same two words, which may occur several times, are one part.
    """
    contribution = explanation.contribution
    left, right = (side.texts for side in (explanation.left, explanation.right))
    saying = np.logical_or.outer(*(np.array(say_much(side), np.bool_) for side in (left, right)))
    rows, columns = (_kinds(side, merge=merge) for side in (left, right))
    pairs = np.zeros((len(left), len(right)))
    np.add.at(pairs, np.ix_(rows, columns), np.where(saying, contribution, 0.0))
    parts = []
    for place in np.argsort(-np.abs(pairs), axis=None, kind="stable")[:MAX_LINKS]:
        i, j = np.unravel_index(place, pairs.shape)
        linked = np.logical_and.outer(rows == i, columns == j) & saying & (contribution != 0)
        places = [(int(row), int(column)) for row, column in np.argwhere(linked)]
        parts.append(ScorePart(pair_name(left[i], right[j]), "link", float(pairs[i, j]), tuple(places)))
        pairs[i, j] = 0.0
    parts += [
        ScorePart("other words", "rest", float(pairs.sum()) + explanation.omitted),
        ScorePart("function words and punctuation", "rest", float(contribution[~saying].sum())),
        ScorePart("special tokens", "special", explanation.special),
    ]
    parts = [part for part in parts if part.exact] or [ScorePart("links", "rest", 0.0)]
    values = rounded_parts([part.exact for part in parts], explanation.score, decimals)
    return [replace(part, value=value) for part, value in zip(parts, values, strict=True)]


def _kinds(words: Sequence[str], *, merge: bool) -> NDArray[np.intp]:
    """(n,) the place of each word, or with `merge` of its first occurrence in any case."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(word.lower(), i) if merge else i for i, word in enumerate(words)], np.intp)


def pair_name(left: str, right: str) -> str:
    """Two isolated words as a label, joined by "=" if they are the same."""
    one, other = (isolated(label(word, _MAX_WORD_EM)) for word in (left, right))
    return f"{one} {'=' if left.lower() == right.lower() else '~'} {other}"


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
