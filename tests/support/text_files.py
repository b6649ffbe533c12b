"""Write small text files for tests of readers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path


def write(file: Path, *lines: str) -> Path:
    """Write these lines; create the parent folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return file


def write_table(file: Path, rows: Iterable[Sequence[object]]) -> Path:
    return write(file, *("\t".join(map(str, row)) for row in rows))


def write_json(file: Path, *rows: object) -> Path:
    return write(file, *map(json.dumps, rows))
