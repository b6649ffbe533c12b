"""JSON: an object on each line, or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import MAX_LINE_BYTES, Advance, raw_lines
from semblance.service.files.encodings import encoding_of
from semblance.service.files.sources import Reading, RowSource, SourceRow


class JsonLinesFile:
    """JSON objects, one a line; blank lines are skipped.

    Args:
        file: the file; compressed if its name ends in `.gz`.
        reading: how to read it.

    Raises:
        BadDataSet: the file cannot be read, or is one JSON list.
    """

    unit: ClassVar[Literal["line"]] = "line"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, file: Path, reading: Reading) -> None:
        self._file = file
        self._encoding = reading.encoding or encoding_of(file)
        self.reading = Reading("jsonl", self._encoding)
        first = next(self.rows(), None)
        if first is not None and isinstance(first.fields, bytes) and first.fields.startswith(b"["):
            raise BadDataSet(f"{file} begins with '[', a JSON list: name it .json, or write one object a line")
        self.size = file.stat().st_size

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Lines that are not blank. Raises BadDataSet."""
        for number, line in raw_lines(self._file, advance=advance, encoding=self._encoding):
            if text := line.strip():
                yield SourceRow(number, _object(text))


class JsonList:
    """The objects of one JSON list, or one object; the file is read as a whole.

    Args:
        file: the file; compressed if its name ends in `.gz`.
        reading: how to read it.

    Raises:
        BadDataSet: the file cannot be read, is not JSON, or has more than `MAX_LINE_BYTES`.
    """

    unit: ClassVar[Literal["row"]] = "row"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, file: Path, reading: Reading) -> None:
        encoding = reading.encoding or encoding_of(file)
        self.reading = Reading("json", encoding)
        self._values = _parsed(file, encoding)
        self.size = len(self._values)

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """One row an object."""
        for number, value in enumerate(self._values, 1):
            yield SourceRow(number, value if isinstance(value, dict) else json.dumps(value).encode())
            if advance is not None:
                advance(1)


def open_json(file: Path, reading: Reading) -> RowSource:
    """A file of JSON: `JsonLinesFile` if its first line is an object, else `JsonList`."""
    encoding = reading.encoding or encoding_of(file)
    first = next((line for _, line in raw_lines(file, encoding=encoding) if line.strip()), b"")
    kind = JsonLinesFile if isinstance(_object(first), dict) else JsonList
    return kind(file, Reading("json", encoding))


def _parsed(file: Path, encoding: str) -> list[Any]:
    lines, size = [], 0
    for _, line in raw_lines(file, encoding=encoding):
        size += len(line)
        if size > MAX_LINE_BYTES:
            raise BadDataSet(f"{file} has more than {MAX_LINE_BYTES:,} bytes: write one object a line, as .jsonl")
        lines.append(line)
    try:
        value = json.loads(b"\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise BadDataSet(f"{file} is not JSON: {error}") from error
    return value if isinstance(value, list) else [value]


def _object(line: bytes) -> Mapping[str, Any] | bytes:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return value if isinstance(value, dict) else line
