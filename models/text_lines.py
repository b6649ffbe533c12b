"""Files of lines, read so that every complaint names file and line: plain ones, and one JSON object a line.

A byte order mark and the carriage returns of Windows are taken off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.errors import BadDataSet, SemblanceError


def numbered_lines(
    file: Path, errors: str = "strict", refusal: type[SemblanceError] = BadDataSet
) -> list[tuple[int, str]]:
    """All lines of a UTF-8 file with their numbers from 1, empty ones too.

    Args:
        file: what to read.
        errors: "replace" for a file that is known to hold broken bytes.
        refusal: the error, where the file is something else than data.

    Raises:
        refusal: it cannot be read, or a line is not UTF-8.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise refusal(f"{file} cannot be read: {error.strerror}") from error
    lines: list[tuple[int, str]] = []
    # only \n ends a line: str.splitlines would also cut at characters that stand inside sentences
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n"), 1):
        try:
            lines.append((number, raw.decode("utf-8", errors).removesuffix("\r")))
        except UnicodeDecodeError as error:
            raise refusal(f"{file}, line {number}: this is not UTF-8") from error
    return lines


def json_lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one JSON object a line, and their line numbers; empty lines are skipped.

    Raises:
        BadDataSet: a line is not a JSON object.
    """
    for number, line in numbered_lines(file):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            json.dumps(found, ensure_ascii=False).encode()  # half a character, such as \ud800, is no text
        except (ValueError, RecursionError) as error:
            raise BadDataSet(f"{file}, line {number}: this is not JSON") from error
        if not isinstance(found, dict):
            raise BadDataSet(f"{file}, line {number}: this is not a JSON object")
        yield number, found
