"""CSV and TSV: a header, then one document a row, all values strings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from semblance.models.files.lines import Advance
from semblance.models.files.tables import csv_rows, read_header, rows_of, tsv_rows
from semblance.service.cli.index.readers.source import SourceRow


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
        self.columns: tuple[str, ...] = tuple(filter(None, self._names))
        self.size = file.stat().st_size

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Rows below the header. Raises BadDataSet."""
        lines = self._lines(advance)
        read_header(self._file, lines)
        for row in rows_of(self._file, self._names, lines):
            yield SourceRow(row.line, {name: value for name, value in row.fields.items() if name})

    def _lines(self, advance: Advance | None) -> Iterator[tuple[int, list[str]]]:
        rows = csv_rows if self._separator == "comma" else tsv_rows
        return rows(self._file, advance=advance)
