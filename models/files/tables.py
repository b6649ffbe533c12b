"""Files of rows, read so that every complaint names file and line: tables by tabs, and comma-separated ones.

Empty lines are skipped; a run of white space in a text becomes one space. Anything else that is odd is refused.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import numbered_lines

_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its fields by the name of their column."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def text(self, column: str) -> str:
        """The text of a column, which must not be empty."""
        text = one_space(self.fields[column])
        if not text:
            raise self.fault(f"{column} is empty")
        return text

    def number(self, column: str) -> float:
        """The finite number of a column."""
        return finite(self.fields[column], self.file, self.line, column)

    def truth(self, column: str) -> bool:
        """Whether a column says 1 or true, and not 0 or false."""
        given = self.fields[column].strip().lower()
        if given not in _TRUTH:
            raise self.fault(f"{column} is {given!r}, neither 0 nor 1")
        return _TRUTH[given]

    def fault(self, what: str) -> BadDataSet:
        """The error that names this row."""
        return fault(self.file, self.line, what)


def fault(file: Path, line: int, what: str) -> BadDataSet:
    """The error that names file and line.

    >>> print(fault(Path("pairs.tsv"), 3, "score is empty"))
    pairs.tsv, line 3: score is empty
    """
    return BadDataSet(f"{file}, line {line}: {what}")


def one_space(text: str) -> str:
    """The text with each run of white space as one space, and none at the ends.

    >>> one_space(" a  b ")
    'a b'
    """
    return " ".join(text.split())


def finite(text: str, file: Path, line: int, column: str) -> float:
    """The number that a field of a file holds.

    Raises:
        BadDataSet: it holds none, or nan or an infinity.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:  # Python reads 1_000 as a number
        raise fault(file, line, f"{column} is {text.strip()!r}, not a number")
    return number


def table(file: Path, needed: Sequence[str]) -> Iterator[Row]:
    """The rows of a tab-separated table whose first line names its columns; quotes have no meaning.

    Raises:
        BadDataSet: a needed column is not named, or a row has more or fewer fields than there are columns.
    """
    return _named(file, ((number, line.split("\t")) for number, line in _filled(file)), needed)


def comma_table(file: Path, needed: Sequence[str], errors: str = "strict") -> Iterator[Row]:
    """The same of a comma-separated table, where a quoted field may hold commas, quotes and ends of lines."""
    lines = numbered_lines(file, errors)
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        try:
            yield from ((reader.line_num, fields) for fields in reader if fields)
        except csv.Error as error:
            raise fault(file, reader.line_num, str(error)) from error

    return _named(file, rows(), needed)


def bare_table(file: Path, columns: Mapping[str, int]) -> Iterator[Row]:
    """The rows of a tab-separated table without a header, with the positions of the columns that matter.

    Raises:
        BadDataSet: a row has too few fields.
    """
    for number, line in _filled(file):
        fields = line.split("\t")
        if len(fields) <= max(columns.values()):
            raise fault(file, number, f"{len(fields)} fields, but at least {max(columns.values()) + 1} are needed")
        yield Row(file, number, {name: fields[position] for name, position in columns.items()})


def _filled(file: Path) -> list[tuple[int, str]]:
    return [(number, line) for number, line in numbered_lines(file) if line.strip()]


def _named(file: Path, rows: Iterable[tuple[int, Sequence[str]]], needed: Sequence[str]) -> Iterator[Row]:
    remaining = iter(rows)
    first, header = next(remaining, (1, ()))
    names = [name.strip() for name in header]
    missing = [name for name in needed if name not in names]
    if missing:
        there = f"there are {', '.join(names)}" if any(names) else "the file is empty"
        raise fault(file, first, f"no column is named {', '.join(missing)}: {there} (fields are parted by tabs)")
    if twice := [name for name in needed if names.count(name) > 1]:
        raise fault(file, first, f"two columns are named {twice[0]}")
    for number, fields in remaining:
        if len(fields) != len(names):
            raise fault(file, number, f"{len(fields)} fields, but the first line names {len(names)} columns")
        yield Row(file, number, dict(zip(names, fields, strict=True)))
