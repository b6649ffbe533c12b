"""JSONL: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance, raw_lines
from semblance.service.cli.index.readers.source import SourceRow


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


def _object(line: bytes) -> Mapping[str, Any] | bytes:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return value if isinstance(value, dict) else line
