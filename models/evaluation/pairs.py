"""Tasks of pairs from rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from models.errors import BadDataSet
from models.evaluation.tables import Row
from models.evaluation.tasks import GradedPairs, LabelledPairs


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a pair: both texts, what people said, and the part of the set if there are parts."""

    left: str = "sentence1"
    right: str = "sentence2"
    said: str = "score"
    part: str | None = None


def graded_pairs(
    rows: Iterable[Row],
    file: Path,
    columns: Columns = Columns(),
    grade: Callable[[Row, str], float] = Row.number,
) -> GradedPairs:
    """Pairs with a grade each.

    Args:
        rows: the rows of all files of the set.
        file: what they were read from, for the message that there are none.
        columns: where the parts of a pair stand.
        grade: makes a number of the named column of a row.

    Raises:
        BadDataSet: there is no row, a text is empty or a grade is no number.
    """
    read = [(r.text(columns.left), r.text(columns.right), grade(r, columns.said), _part(r, columns)) for r in rows]
    if not read:
        raise BadDataSet(f"{file} holds no pairs")
    left, right, gold, parts = zip(*read, strict=True)
    return GradedPairs(left, right, gold, parts)


def labelled_pairs(rows: Iterable[Row], file: Path, columns: Columns) -> LabelledPairs:
    """Pairs that match or do not; arguments and errors as in `graded_pairs`."""
    read = [(r.text(columns.left), r.text(columns.right), r.truth(columns.said), _part(r, columns)) for r in rows]
    if not read:
        raise BadDataSet(f"{file} holds no pairs")
    left, right, matches, parts = zip(*read, strict=True)
    return LabelledPairs(left, right, matches, parts)


def _part(row: Row, columns: Columns) -> str:
    return row.text(columns.part) if columns.part else ""
