"""Pairs of texts with human grades or labels, and how they are read from tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.digests import digest
from semblance.models.files.tables import Row, read_tsv


@dataclass(frozen=True, slots=True)
class GradedPairs:
    """Sentence pairs with similarity grades: n texts left, n right, n gold scores on any scale.

    `subtasks` names the part of the benchmark that each pair comes from; all equal without parts. `groups` names the
    group of each pair if the pairs of a group depend on each other, such as those with common sentences; None if all
    pairs are independent.
    """

    left: Sequence[str]
    right: Sequence[str]
    gold: Sequence[float]
    subtasks: Sequence[str]
    groups: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class LabeledPairs:
    """Pairs of texts that match or do not: n texts left, n right, n labels."""

    left: Sequence[str]
    right: Sequence[str]
    matches: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns of a table of pairs.

    Attributes:
        left, right: both texts.
        gold: the grade or label.
        part: the part of the set, if there are parts.
        group: the group of pairs that depend on each other; optional in the table.
    """

    left: str = "sentence1"
    right: str = "sentence2"
    gold: str = "score"
    part: str | None = None
    group: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The required columns."""
        return tuple(name for name in (self.part, self.left, self.right, self.gold) if name is not None)


def graded_pairs(
    file: Path,
    columns: Columns = Columns(),
    rows: Iterable[Row] | None = None,
    grade: Callable[[Row, str], float] = Row.number,
) -> GradedPairs:
    """Read graded pairs from a table, or from rows.

    Args:
        file: a tab-separated table with a header; or the source of `rows`, for error messages.
        columns: names of the columns.
        rows: the rows of all files of the set, if it is not one such table.
        grade: reads the number in the named column of a row.

    Raises:
        BadDataSet: no rows, an empty text, a grade that is not a number, or equal grades for all pairs.
    """
    left, right, gold, parts, groups = _read_columns(file, columns, rows, grade)
    pairs = GradedPairs(left, right, gold, parts, None if None in groups else groups)
    if len(set(pairs.gold)) == 1:
        raise BadDataSet(f"{file}: all grades are {pairs.gold[0]:g}; a correlation needs different grades")
    return pairs


def labeled_pairs(file: Path, columns: Columns, rows: Iterable[Row] | None = None) -> LabeledPairs:
    """Read labeled pairs from a table, or from rows; arguments and errors as in `graded_pairs`."""
    left, right, matches, *_ = _read_columns(file, columns, rows, Row.boolean)
    if len(set(matches)) == 1:
        which = "all" if matches[0] else "none"
        raise BadDataSet(f"{file}: {which} of the pairs match; labels must include both matches and others")
    return LabeledPairs(left, right, matches)


def pair_digests(pairs: LabeledPairs) -> list[str]:
    """The first digits of the SHA-256 of each pair, whichever of its texts is left."""
    return [digest(pair=sorted(pair))[:16] for pair in zip(pairs.left, pairs.right, strict=True)]


def labeled(name: str, task: object, same_from: float | None) -> LabeledPairs:
    """A data set as labeled pairs; graded pairs match from the grade `same_from` on.

    Raises:
        BadDataSet: it has other annotations than labels, or grades and no `same_from` is given.
    """
    if isinstance(task, LabeledPairs):
        return task
    if not isinstance(task, GradedPairs):
        raise BadDataSet(f"{name} has no labels of pairs; name sets such as turl_train, or labels:FILE")
    if same_from is None:
        raise BadDataSet(f"{name} has grades instead of labels: say by --same-from from which grade pairs match")
    return LabeledPairs(task.left, task.right, [grade >= same_from for grade in task.gold])


def _read_columns(
    file: Path, columns: Columns, rows: Iterable[Row] | None, gold: Callable[[Row, str], Any]
) -> tuple[tuple[Any, ...], ...]:
    """The columns of all rows: left text, right text, grade or label, part and group."""
    read = [
        (
            row.text(columns.left),
            row.text(columns.right),
            gold(row, columns.gold),
            _part(row, columns),
            row.text(columns.group) if columns.group and columns.group in row.fields else None,
        )
        for row in (read_tsv(file, columns.names) if rows is None else rows)
    ]
    if not read:
        raise BadDataSet(f"{file} holds no pairs")
    return tuple(zip(*read, strict=True))


def _part(row: Row, columns: Columns) -> str:
    return row.text(columns.part) if columns.part else ""
