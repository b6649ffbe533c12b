"""Benchmarks, one per file, which lists the sets it reads in `SETS`.

Tables of pairs are read by `graded_pairs` and `labeled_pairs`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.evaluation.tasks import GradedPairs, LabeledPairs, Task
from semblance.models.files.tables import Row, read_tsv


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark that can be read from a folder of data.

    Attributes:
        name: its name on the command line.
        what: a short description.
        source: where a user gets it, with the bibliography key in brackets; never a link that the code follows.
        files: paths relative to the folder of data; the first that exists is read.
        read: reads the file or folder as a task. Raises BadDataSet, naming file and line.
    """

    name: str
    what: str
    source: str
    files: tuple[str, ...]
    read: Callable[[Path], Task]


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the modules."""
    return {each.name: each for each in _all()}


def data_set(name: str) -> DataSet:
    """The set of that name.

    Raises:
        UnknownName: unknown set.
    """
    if name not in data_sets():
        raise UnknownName("data sets", name, tuple(data_sets()))
    return data_sets()[name]


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


def _all() -> Iterator[DataSet]:
    for module in pkgutil.iter_modules(__path__):
        yield from importlib.import_module(f"{__name__}.{module.name}").SETS


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
