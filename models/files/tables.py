"""Read TSV and CSV files with line numbers, so that every error names file and line.

Empty lines are skipped; a run of white space in a text becomes one space. Any other irregularity is an error.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import numbered_lines

_BOOLEANS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its fields by column name."""

    file: Path
    line: int
    fields: Mapping[str, str]

    def text(self, column: str) -> str:
        """Text of a column; must not be empty."""
        text = collapse_spaces(self.fields[column])
        if not text:
            raise self.error(f"{column} is empty")
        return text

    def number(self, column: str) -> float:
        """Finite number of a column."""
        return finite_number(self.fields[column], self.file, self.line, column)

    def boolean(self, column: str) -> bool:
        """True for 1 or true, False for 0 or false."""
        value = self.fields[column].strip().lower()
        if value not in _BOOLEANS:
            raise self.error(f"{column} is {value!r}, neither 0 nor 1")
        return _BOOLEANS[value]

    def error(self, problem: str) -> BadDataSet:
        """An error that names this row."""
        return row_error(self.file, self.line, problem)


def row_error(file: Path, line: int, problem: str) -> BadDataSet:
    """An error that names file and line.

    >>> print(row_error(Path("pairs.tsv"), 3, "score is empty"))
    pairs.tsv, line 3: score is empty
    """
    return BadDataSet(f"{file}, line {line}: {problem}")


def collapse_spaces(text: str) -> str:
    """Replace each run of white space by one space, and strip the ends.

    >>> collapse_spaces(" a  b ")
    'a b'
    """
    return " ".join(text.split())


def finite_number(text: str, file: Path, line: int, column: str) -> float:
    """Parse a finite number.

    Raises:
        BadDataSet: the field is no number, nan or infinite.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:  # float() accepts 1_000
        raise row_error(file, line, f"{column} is {text.strip()!r}, not a number")
    return number


def read_tsv(file: Path, needed: Sequence[str]) -> Iterator[Row]:
    """Read a tab-separated table with column names in line 1; quotes are plain characters.

    Raises:
        BadDataSet: a needed column is missing, or a row has more or fewer fields than columns.
    """
    return _with_header(file, ((number, line.split("\t")) for number, line in _nonempty_lines(file)), needed)


def read_csv(file: Path, needed: Sequence[str], errors: str = "strict") -> Iterator[Row]:
    """As `read_tsv`, comma-separated; a quoted field may contain commas, quotes and line ends."""
    lines = numbered_lines(file, errors)
    reader = csv.reader((f"{line}\n" for _, line in lines), strict=True)

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        try:
            yield from ((reader.line_num, fields) for fields in reader if fields)
        except csv.Error as error:
            raise row_error(file, reader.line_num, str(error)) from error

    return _with_header(file, rows(), needed)


def read_headerless_tsv(file: Path, columns: Mapping[str, int]) -> Iterator[Row]:
    """Read a tab-separated table without a header, by the positions of its columns.

    Raises:
        BadDataSet: a row has too few fields.
    """
    for number, line in _nonempty_lines(file):
        fields = line.split("\t")
        if len(fields) <= max(columns.values()):
            raise row_error(file, number, f"{len(fields)} fields, but at least {max(columns.values()) + 1} are needed")
        yield Row(file, number, {name: fields[position] for name, position in columns.items()})


def _nonempty_lines(file: Path) -> list[tuple[int, str]]:
    return [(number, line) for number, line in numbered_lines(file) if line.strip()]


def _with_header(file: Path, rows: Iterable[tuple[int, Sequence[str]]], needed: Sequence[str]) -> Iterator[Row]:
    remaining = iter(rows)
    first, header = next(remaining, (1, ()))
    names = [name.strip() for name in header]
    missing = [name for name in needed if name not in names]
    if missing:
        found = f"found {', '.join(names)}" if any(names) else "the file is empty"
        raise row_error(file, first, f"no column is named {', '.join(missing)}; {found} (fields are separated by tabs)")
    if duplicates := [name for name in needed if names.count(name) > 1]:
        raise row_error(file, first, f"two columns are named {duplicates[0]}")
    for number, fields in remaining:
        if len(fields) != len(names):
            raise row_error(file, number, f"{len(fields)} fields, but the first line names {len(names)} columns")
        yield Row(file, number, dict(zip(names, fields, strict=True)))
