"""CSV and TSV, by the parser of all tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from semblance.models.files.lines import UTF_8, Advance, text_lines
from semblance.models.files.tables import csv_rows, read_header, rows_of, separator_of, tsv_rows
from semblance.service.files.encodings import encoding_of
from semblance.service.files.sources import Reading, SourceRow


class DelimitedText:
    """A table with a header, comma-separated (also by semicolons) or tab-separated.

    Columns without a name, such as the row numbers that pandas writes, are left out, and so are rows without a value.

    Attributes:
        blank: number of the rows without a value, of the last time that all were read.

    Args:
        file: the table; compressed if its name ends in `.gz`.
        reading: how to read it; its format is "csv", or "tsv", where quotes are plain characters.

    Raises:
        BadDataSet: the header cannot be read.
    """

    unit: ClassVar[Literal["line"]] = "line"
    typed: ClassVar[bool] = False

    def __init__(self, file: Path, reading: Reading) -> None:
        self._file = file
        self.reading = _completed(file, reading)
        self._names = read_header(file, self._lines(None))
        self.columns: tuple[str, ...] = self._names
        self._nameless = [place for place, name in enumerate(self._names) if not name]
        self._with_values: set[int] = set()
        self.size = file.stat().st_size
        self.blank = 0

    @property
    def unnamed(self) -> Sequence[int]:
        """Numbers from 1 of the columns without a name with a value in a row that was read."""
        return [place + 1 for place in sorted(self._with_values)]

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Rows below the header. Raises BadDataSet."""
        lines = self._lines(advance)
        read_header(self._file, lines)
        blank = 0
        for row in rows_of(self._file, self._names, map(self._note_unnamed, lines)):
            if any(value.strip() for value in row.fields.values()):
                yield SourceRow(row.line, {name: value for name, value in row.fields.items() if name})
            else:
                blank += 1
        self.blank = blank

    def _lines(self, advance: Advance | None) -> Iterator[tuple[int, list[str]]]:
        encoding = self.reading.encoding or UTF_8
        rows = partial(csv_rows, separator=self.reading.separator) if self.reading.format == "csv" else tsv_rows
        return rows(self._file, advance=advance, encoding=encoding)

    def _note_unnamed(self, row: tuple[int, list[str]]) -> tuple[int, list[str]]:
        """Note the columns without a name in which a row has a value."""
        fields = row[1]
        self._with_values.update(place for place in self._nameless if "".join(fields[place : place + 1]).strip())
        return row


def _completed(file: Path, reading: Reading) -> Reading:
    """A reading completed by the bytes of a table."""
    encoding = reading.encoding or encoding_of(file)
    separator = reading.separator
    if reading.format == "csv" and separator is None:
        _, first = next(text_lines(file, encoding=encoding), (1, ""))
        separator = separator_of(first)
    return replace(reading, encoding=encoding, separator=separator if reading.format == "csv" else None)
