"""Files of documents, read row by row; the suffix decides on the format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance, format_suffix, raw_lines
from semblance.models.files.tables import csv_rows, read_header, rows_of, tsv_rows

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "tsv"]

SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tab": "tsv",
    ".tsv": "tsv",
}


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a row was rejected: a code of docs/errors.md, and a message that names the field."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row: its number in the file, and its values by name.

    Attributes:
        number: of the first line, or of the row where a format has no lines; from 1.
        fields: the values; or a line to be sent as it is, such as one that is not a JSON object and will be rejected;
            or why the row is rejected here.
        id: of a line that is a document.
    """

    number: int
    fields: Mapping[str, Any] | bytes | RowProblem
    id: str | None = None


class RowSource(Protocol):
    """A file whose rows are read in order, as often as wanted, with one row or a few in memory."""

    @property
    def unit(self) -> Literal["line", "row"]:
        """The unit of `SourceRow.number`."""

    @property
    def size(self) -> int:
        """The sum of the progress callback: bytes on disk, or rows if `unit` is "row"."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, empty for one without; None if each row has its own."""

    @property
    def unnamed(self) -> Sequence[int]:
        """Numbers from 1 of the columns without a name, which are left out, with values so far."""

    @property
    def typed(self) -> bool:
        """Whether values have types; otherwise all are strings."""

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """All rows. Raises BadDataSet: the file cannot be read, or a row is malformed."""


class DelimitedText:
    """A table with a header, comma-separated (also by semicolons) or tab-separated.

    Columns without a name, such as the row numbers that pandas writes, are left out.

    Args:
        file: the table; compressed if its name ends in `.gz`.
        separator: "comma" for the rules of CSV, "tab" for TSV, where quotes are plain characters.

    Raises:
        BadDataSet: the header cannot be read.
    """

    unit: ClassVar[Literal["line"]] = "line"
    typed: ClassVar[bool] = False

    def __init__(self, file: Path, separator: Literal["comma", "tab"]) -> None:
        self._file = file
        self._separator = separator
        self._names = read_header(file, self._lines(None))
        self.columns: tuple[str, ...] = self._names
        self._nameless = [place for place, name in enumerate(self._names) if not name]
        self._with_values: set[int] = set()
        self.size = file.stat().st_size

    @property
    def unnamed(self) -> Sequence[int]:
        """Numbers from 1 of the columns without a name with a value in a row that was read."""
        return [place + 1 for place in sorted(self._with_values)]

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Rows below the header. Raises BadDataSet."""
        lines = self._lines(advance)
        read_header(self._file, lines)
        for row in rows_of(self._file, self._names, map(self._note_unnamed, lines)):
            yield SourceRow(row.line, {name: value for name, value in row.fields.items() if name})

    def _lines(self, advance: Advance | None) -> Iterator[tuple[int, list[str]]]:
        rows = csv_rows if self._separator == "comma" else tsv_rows
        return rows(self._file, advance=advance)

    def _note_unnamed(self, row: tuple[int, list[str]]) -> tuple[int, list[str]]:
        """Note the columns without a name in which a row has a value."""
        fields = row[1]
        self._with_values.update(place for place in self._nameless if "".join(fields[place : place + 1]).strip())
        return row


class JsonLinesFile:
    """JSON objects, one a line; blank lines are skipped.

    Args:
        file: the file; compressed if its name ends in `.gz`.

    Raises:
        BadDataSet: the file cannot be read, or is one JSON array.
    """

    unit: ClassVar[Literal["line"]] = "line"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, file: Path) -> None:
        self._file = file
        first = next(self.rows(), None)
        if first is not None and isinstance(first.fields, bytes) and first.fields.startswith(b"["):
            raise BadDataSet(f"{file} begins with '[', a JSON array: write one object a line, as `jq -c '.[]'` does")
        self.size = file.stat().st_size

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Lines that are not blank. Raises BadDataSet."""
        for number, line in raw_lines(self._file, advance=advance):
            if text := line.strip():
                yield SourceRow(number, _object(text))


def open_source(file: Path, name: Format | None) -> RowSource:
    """Open a file of documents.

    Args:
        file: the file; CSV, TSV and JSONL may be compressed, with the additional suffix `.gz`.
        name: its format, None to tell by the suffix.

    Raises:
        BadDataSet: the suffix is unknown, or the file cannot be read.
        ModuleNotFoundError: Parquet without pyarrow, which the extra `parquet` installs.
    """
    match name or format_of(file):
        case "csv":
            return DelimitedText(file, "comma")
        case "tsv":
            return DelimitedText(file, "tab")
        case "parquet":
            from semblance.service.cli.index.readers.parquet import ParquetTable  # noqa: PLC0415 - needs pyarrow

            return ParquetTable(file)
        case _:
            return JsonLinesFile(file)


def format_of(file: Path) -> Format:
    """Format of a file by its suffix, in any case.

    Raises:
        BadDataSet: it is unknown.
    """
    suffix = format_suffix(file)
    if suffix not in SUFFIXES:
        raise BadDataSet(
            f"{file}: no format has the suffix {suffix!r}; pass --format with one of {', '.join(get_args(Format))}"
        )
    return SUFFIXES[suffix]


def is_readable(file: Path) -> bool:
    """Whether the suffix of a file tells its format."""
    return format_suffix(file) in SUFFIXES


def _object(line: bytes) -> Mapping[str, Any] | bytes:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return value if isinstance(value, dict) else line
