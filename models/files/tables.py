"""Read TSV, CSV and JSONL files row by row, so that every error names file and line.

Empty lines are skipped; a run of white space in a text becomes one space. Any other irregularity is an error.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import UTF_8, Advance, format_suffix, json_lines, lines_with_returns, text_lines

SEPARATORS = ",;\t"  # of the fields of a CSV file; spreadsheets of many countries write semicolons
MAX_CHARS = 16_000_000  # of a field: a quote that is never closed must not read the whole file into memory

LONE_RETURN = "a carriage return stands outside of quotes: end lines with line feeds, or quote the field"

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
        BadDataSet: the field is not a number, nan or infinite.
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:  # float() accepts 1_000
        raise row_error(file, line, f"{column} is {text.strip()!r}, not a number")
    return number


def read_table(file: Path, needed: Sequence[str], remedy: str = "") -> Iterator[Row]:
    """Read a table by its suffix: `.csv`, `.jsonl` with one object a row, or else TSV.

    Args:
        file: the table; with the additional suffix `.gz`, compressed.
        needed: columns that it must have.
        remedy: what to do if one is missing, at the end of the error message.

    Raises:
        BadDataSet: a needed column is missing, or a row is malformed.
    """
    match format_suffix(file):
        case ".csv":
            return _with_header(file, csv_rows(file), needed, remedy)
        case ".jsonl":
            return _objects(file, needed, remedy)
        case _:
            return _with_header(file, tsv_rows(file), needed, remedy)


def read_tsv(file: Path, needed: Sequence[str]) -> Iterator[Row]:
    """Read a tab-separated table with column names in line 1; quotes are plain characters.

    Raises:
        BadDataSet: a needed column is missing, or a row has more or fewer fields than columns.
    """
    return _with_header(file, tsv_rows(file), needed)


def read_csv(file: Path, needed: Sequence[str], errors: str = "strict") -> Iterator[Row]:
    """As `read_tsv`, by the rules of `csv_rows`."""
    return _with_header(file, csv_rows(file, errors), needed)


def tsv_rows(file: Path, advance: Advance | None = None, encoding: str = UTF_8) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line of a tab-separated table; quotes are characters.

    Raises:
        BadDataSet: the file cannot be read, or is not in the encoding.
    """
    lines = text_lines(file, advance=advance, encoding=encoding)
    return ((number, line.split("\t")) for number, line in lines if line.strip())


def csv_rows(
    file: Path,
    errors: str = "strict",
    advance: Advance | None = None,
    encoding: str = UTF_8,
    separator: str | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Fields of each row of a CSV file, with the number of its first line.

    A quoted field may contain separators, line ends, which are kept as they are, and, doubled, quotes.

    Args:
        file: the file to read, one row at a time.
        errors: "replace" for a file that is known to contain bytes that are not UTF-8.
        advance: progress callback.
        encoding: of the file.
        separator: of the fields; None for the one that `separator_of` tells.

    Raises:
        BadDataSet: the file cannot be read, is not in the encoding, a quote is not closed, or a carriage return without
            a line feed stands outside of quotes.
    """
    lines = (f"{line}\n" for _, line in lines_with_returns(file, errors, advance=advance, encoding=encoding))
    first = next(lines, "")
    csv.field_size_limit(MAX_CHARS)
    rows = csv.reader(_joined(first, lines), delimiter=separator or separator_of(first), strict=True)
    begun = 1
    try:
        for fields in rows:
            if fields:
                yield begun, fields
            begun = rows.line_num + 1
    except csv.Error as error:
        lone_return = str(error).startswith("new-line character seen")
        problem = (
            LONE_RETURN if lone_return else f"{error}; close every quote, and double those inside of a quoted field"
        )
        raise row_error(file, begun, problem) from error


def separator_of(header: str) -> str:
    """The most frequent of comma, semicolon and tab in the first line of a CSV file.

    >>> separator_of("id;text;price, net")
    ';'
    """
    return max(SEPARATORS, key=header.count)


def read_header(file: Path, rows: Iterator[tuple[int, Sequence[str]]]) -> tuple[str, ...]:
    """Names of the columns of a table, empty for those without.

    They are its first row, which this takes from `rows`.

    Raises:
        BadDataSet: two columns have the same name.
    """
    line, header = next(rows, (1, ()))
    names = tuple(name.strip() for name in header)
    if duplicates := [name for name in names if name and names.count(name) > 1]:
        raise row_error(file, line, f"two columns are named {duplicates[0]}")
    return names


def rows_of(file: Path, names: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]) -> Iterator[Row]:
    """The rows below the header, by the names of the columns.

    Spreadsheets write empty fields at the end of some rows only: they may be more or fewer than columns without a name.

    Raises:
        BadDataSet: a row has more or fewer fields than columns.
    """
    for number, fields in rows:
        if any(names[len(fields) :]) or any(field.strip() for field in fields[len(names) :]):
            raise row_error(file, number, f"{len(fields)} fields, but the first line names {len(names)} columns")
        yield Row(file, number, dict(zip(names, fields, strict=False)))


def missing_columns(missing: Sequence[str], names: Sequence[str], noun: str = "column") -> str:
    """Message about columns that a table lacks: those it has, and similar names.

    >>> print(missing_columns(["text"], ["id", "Text"]))
    no column is named text; the columns are id, Text (did you mean Text?)
    """
    problem = f"no {noun} is named {', '.join(missing)}"
    numbers = ", ".join(str(number) for number, name in enumerate(names, 1) if not name)
    unnamed = f"; {noun}s without a name: {numbers}" if numbers else ""
    names = [name for name in names if name]
    if not names:
        return f"{problem}; there are no {noun}s{unnamed}"
    if len(names) == 1 and any(separator in names[0] for separator in SEPARATORS):
        one = f"the first line is a single field, {names[0]!r}"
        return f"{problem}; {one}: .tsv files have tabs, .csv files commas or semicolons"
    lower = {name.lower(): name for name in names}
    close = [lower[found] for name in missing for found in get_close_matches(name.lower(), lower, n=1)]
    guess = f" (did you mean {', '.join(close)}?)" if close else ""
    return f"{problem}; the {noun}s are {', '.join(names)}{guess}{unnamed}"


def read_headerless_tsv(file: Path, columns: Mapping[str, int]) -> Iterator[Row]:
    """Read a tab-separated table without a header, by the positions of its columns.

    Raises:
        BadDataSet: a row has too few fields.
    """
    for number, fields in tsv_rows(file):
        if len(fields) <= max(columns.values()):
            raise row_error(file, number, f"{len(fields)} fields, but at least {max(columns.values()) + 1} are needed")
        yield Row(file, number, {name: fields[position] for name, position in columns.items()})


def _with_header(
    file: Path, rows: Iterator[tuple[int, Sequence[str]]], needed: Sequence[str], remedy: str = ""
) -> Iterator[Row]:
    names = read_header(file, rows)
    if not names:
        raise row_error(file, 1, "the file is empty")
    if missing := [name for name in needed if name not in names]:
        raise row_error(file, 1, missing_columns(missing, names) + remedy)
    yield from rows_of(file, names, rows)


def _objects(file: Path, needed: Sequence[str], remedy: str) -> Iterator[Row]:
    """Objects of a JSONL file as rows of a table: numbers and booleans as text, null as no text."""
    for number, values in json_lines(file):
        if missing := [name for name in needed if name not in values]:
            raise row_error(file, number, missing_columns(missing, list(values), "field") + remedy)
        if nested := [name for name in needed if isinstance(values[name], list | dict)]:
            raise row_error(file, number, f"{nested[0]} is neither a text nor a number")
        yield Row(file, number, {name: "" if value is None else str(value) for name, value in values.items()})


def _joined(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
