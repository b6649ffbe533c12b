"""Tasks of pairs from rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.tasks import GradedPairs, LabelledPairs
from semblance.models.files.tables import Row, table


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a pair.

    Attributes:
        left, right: both texts.
        said: what people said.
        part: the part of the set, if there are parts.
        group: the pairs that depend on each other; the table need not have it.
    """

    left: str = "sentence1"
    right: str = "sentence2"
    said: str = "score"
    part: str | None = None
    group: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All that a table must have."""
        return tuple(name for name in (self.part, self.left, self.right, self.said) if name is not None)


def graded_pairs(
    file: Path,
    columns: Columns = Columns(),
    rows: Iterable[Row] | None = None,
    grade: Callable[[Row, str], float] = Row.number,
) -> GradedPairs:
    """Pairs with a grade each.

    Args:
        file: a table with a header; or what the rows were read from, for the message that there are none.
        columns: where the parts of a pair stand.
        rows: the rows of all files of the set, where it is no such table.
        grade: makes a number of the named column of a row.

    Raises:
        BadDataSet: there is no row, a text is empty, a grade is no number, or all are equal.
    """
    left, right, gold, parts, groups = _sides(file, columns, rows, grade)
    pairs = GradedPairs(left, right, gold, parts, None if None in groups else groups)
    if len(set(pairs.gold)) == 1:
        raise BadDataSet(f"{file}: all grades are {pairs.gold[0]:g}, so there is nothing to correlate with")
    return pairs


def labelled_pairs(file: Path, columns: Columns) -> LabelledPairs:
    """Pairs that match or do not; arguments and errors as in `graded_pairs`."""
    left, right, matches, *_ = _sides(file, columns, None, Row.truth)
    if len(set(matches)) == 1:
        how_many = "all" if matches[0] else "none"
        raise BadDataSet(f"{file}: {how_many} of the pairs match, so there is nothing to tell apart")
    return LabelledPairs(left, right, matches)


def _sides(
    file: Path, columns: Columns, rows: Iterable[Row] | None, said: Callable[[Row, str], Any]
) -> tuple[tuple[Any, ...], ...]:
    """All texts left, all texts right, all that people said, and the part and the group of each pair."""
    read = [
        (
            row.text(columns.left),
            row.text(columns.right),
            said(row, columns.said),
            _part(row, columns),
            row.text(columns.group) if columns.group and columns.group in row.fields else None,
        )
        for row in (table(file, columns.names) if rows is None else rows)
    ]
    if not read:
        raise BadDataSet(f"{file} holds no pairs")
    return tuple(zip(*read, strict=True))


def _part(row: Row, columns: Columns) -> str:
    return row.text(columns.part) if columns.part else ""
