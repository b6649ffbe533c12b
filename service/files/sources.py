"""Files of documents, read row by row; the suffix decides on the format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, get_args

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance, format_suffix

Format: TypeAlias = Literal[
    "csv", "docx", "html", "json", "jsonl", "lines", "markdown", "parquet", "pdf", "rst", "text", "tsv"
]
Unit: TypeAlias = Literal["file", "line", "page", "row"]

SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".docx": "docx",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".markdown": "markdown",
    ".md": "markdown",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pdf": "pdf",
    ".rst": "rst",
    ".tab": "tsv",
    ".tsv": "tsv",
    ".txt": "lines",
    ".xhtml": "html",
}
TABLES: tuple[Format, ...] = ("csv", "json", "jsonl", "parquet", "tsv")
PAGES: tuple[Format, ...] = ("docx", "html", "markdown", "pdf", "rst", "text")
"""Formats of which a file, or a page of it, is a document."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Format, encoding and separator of a file, to read it by or as they were found.

    Attributes:
        format: None to tell it by the suffix.
        encoding: of its text, as Python names it; None to tell it by the bytes, or where the format has its own.
        separator: of the fields of CSV; None to tell it by the first line, or in other formats.
    """

    format: Format | None = None
    encoding: str | None = None
    separator: str | None = None


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
    def unit(self) -> Unit:
        """The unit of `SourceRow.number`."""

    @property
    def size(self) -> int:
        """The sum of the progress callback: bytes on disk if `unit` is "line", else units."""

    @property
    def reading(self) -> Reading:
        """Format, encoding and separator."""

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


def format_of(file: Path) -> Format:
    """Format of a file by its suffix, in any case.

    Raises:
        BadDataSet: it is unknown.
    """
    suffix = format_suffix(file)
    if suffix == ".xlsx":
        raise BadDataSet(f"{file}: a workbook is not read: save its sheet as CSV")
    if suffix not in SUFFIXES:
        raise BadDataSet(
            f"{file}: no format has the suffix {suffix!r}; name one (--format, format): {', '.join(get_args(Format))}"
        )
    return SUFFIXES[suffix]


def is_table(file: Path) -> bool:
    """Whether a file has a document in each row, by its suffix."""
    return SUFFIXES.get(format_suffix(file)) in TABLES
