"""Plain texts, one a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from semblance.models.files.lines import Advance, text_lines
from semblance.service.files.encodings import encoding_of
from semblance.service.files.sources import Reading, SourceRow


class TextLines:
    """A text on each line; blank lines are skipped.

    Args:
        file: the file; compressed if its name ends in `.gz`.
        reading: how to read it.

    Raises:
        BadDataSet: the file cannot be read.
    """

    unit: ClassVar[Literal["line"]] = "line"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = ("text",)
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, file: Path, reading: Reading) -> None:
        self._file = file
        self._encoding = reading.encoding or encoding_of(file)
        self.reading = Reading("lines", self._encoding)
        self.size = file.stat().st_size

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Lines that are not blank. Raises BadDataSet."""
        for number, line in text_lines(self._file, advance=advance, encoding=self._encoding):
            if text := line.strip():
                yield SourceRow(number, {"text": text})
