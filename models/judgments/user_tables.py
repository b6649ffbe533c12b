"""Read a user's tables of judged pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.files.tables import Row, read_table
from semblance.models.judgments.pairs import Columns, GradedPairs, LabeledPairs, graded_pairs, labeled_pairs

OPTIONAL = "bundle"

Data_co = TypeVar("Data_co", covariant=True)


@dataclass(frozen=True, slots=True)
class UserTable:
    """A file, the names of the columns of its layout, and those that the user gave for them.

    `given` is None if the user cannot give names, so that no error asks for them; `remedy` says how, if not by
    `--columns`.
    """

    path: Path
    columns: tuple[str, ...]
    given: Mapping[str, str] | None
    remedy: str | None = None

    def name(self, column: str) -> str:
        """Name of a column in the file."""
        return (self.given or {}).get(column, column)

    def rows(self) -> Iterator[Row]:
        """The rows. Raises BadDataSet."""
        required = [column for column in self.columns if column != OPTIONAL]
        optional = [OPTIONAL] if OPTIONAL in (self.given or {}) else []
        example = ",".join(f"{column}=NAME" for column in required)
        remedy = self.remedy or f"name yours with --columns {example}"
        needed = [self.name(column) for column in (*required, *optional)]
        return read_table(self.path, needed, "" if self.given is None else f"; {remedy}")


@dataclass(frozen=True, slots=True)
class DataLayout(Generic[Data_co]):
    """A layout of user data: its columns, if it is a table, and how it is read."""

    columns: tuple[str, ...]
    read: Callable[[UserTable], Data_co]


Layouts = Mapping[str, DataLayout[Data_co]]


def read_user_data(
    layouts: Layouts[Data_co],
    kind: str,
    path: Path,
    columns: Mapping[str, str] | None = None,
    remedy: str | None = None,
) -> Data_co:
    """Read a file of the user.

    Args:
        layouts: the known layouts by kind, such as `PAIR_LAYOUTS`.
        kind: the kind of the file.
        path: the file, the folder, or the prefix; a table is CSV, JSONL or else TSV, by its suffix.
        columns: names of the columns in the file, by those of the layout, where they differ; None if they cannot be
            given, so that no error asks for them.
        remedy: how they are given, if not by `--columns`.

    Raises:
        BadDataSet: naming file and line.
        UnknownName: unknown kind.
    """
    layout = _layout(layouts, kind)
    return layout.read(UserTable(path, layout.columns, columns, remedy))


def renamed_columns(layouts: Layouts[object], values: Sequence[str], sets: Sequence[str]) -> dict[str, str]:
    """Names of columns by those of the layouts: `sentence1=question,score=grade`.

    A comma begins a new entry only before a word and `=`, so that names of columns may contain commas.

    Raises:
        BadDataSet: an entry has another form, or no table among `sets` has such a column.
        UnknownName: there is no such kind of tables.
    """
    kinds = [name.partition(":")[0] for name in sets if ":" in name]
    known = list(dict.fromkeys(column for kind in kinds for column in _layout(layouts, kind).columns))
    columns = {}
    for entry in (each.strip() for value in values for each in re.split(r",(?=\s*\w+=)", value)):
        column, _, name = entry.partition("=")
        if column not in known or not name:
            allowed = (
                f"COLUMN=NAME with one of {', '.join(known)}"
                if known
                else "used: no table of yours, such as labels:FILE, is named"
            )
            raise BadDataSet(f"--columns {entry} is not {allowed}")
        columns[column] = name
    return columns


def _layout(layouts: Layouts[Data_co], kind: str) -> DataLayout[Data_co]:
    if kind not in layouts:
        raise UnknownName("kinds of user data", kind, tuple(layouts))
    return layouts[kind]


def _pairs(table: UserTable) -> GradedPairs:
    left, right, gold = map(table.name, ("sentence1", "sentence2", "score"))
    columns = Columns(left, right, gold, group=table.name(OPTIONAL))
    return graded_pairs(table.path, columns, table.rows())


def _labels(table: UserTable) -> LabeledPairs:
    columns = Columns(*map(table.name, table.columns))
    return labeled_pairs(table.path, columns, table.rows())


PAIR_LAYOUTS: Layouts[GradedPairs | LabeledPairs] = {
    "pairs": DataLayout(("sentence1", "sentence2", "score", OPTIONAL), _pairs),
    "labels": DataLayout(("sentence1", "sentence2", "label"), _labels),
}
"""Tables of judged pairs.

====== =====================================================================================
pairs  the columns sentence1, sentence2 and score (any scale); an optional column bundle names the group of pairs that
       are resampled together
labels the same with label instead of score: 1 or true for a match, 0 or false otherwise
====== =====================================================================================
"""
