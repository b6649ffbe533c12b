"""Read text and JSON Lines files with line numbers, so that every error names file and line.

A byte order mark and carriage returns at line ends are removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from semblance.models.errors import BadDataSet, SemblanceError

Advance: TypeAlias = Callable[[int], None]
"""Progress callback: receives the number of new bytes read."""


def numbered_lines(
    file: Path, errors: str = "strict", error_type: type[SemblanceError] = BadDataSet
) -> list[tuple[int, str]]:
    """Lines of a UTF-8 file with their numbers from 1, empty lines included.

    Args:
        file: the file to read.
        errors: "replace" for a file that is known to contain invalid bytes.
        error_type: the error to raise, where the file is not a data set.

    Raises:
        error_type: the file cannot be read, or a line is not UTF-8.
    """
    lines = list(_lines(file, errors, error_type, _no_callback))
    return lines or [(1, "")]


def json_lines(
    file: Path, error_type: type[SemblanceError] = BadDataSet, advance: Advance | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON Lines file with their line numbers; empty lines are skipped.

    Args:
        file: the file to read, one line at a time.
        error_type: the error to raise, where the file is not a data set.
        advance: progress callback.

    Raises:
        error_type: the file cannot be read, or a line is not a JSON object.
    """
    for number, line in _lines(file, "strict", error_type, advance or _no_callback):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            json.dumps(value, ensure_ascii=False).encode()  # refuse lone surrogates such as \ud800
        except (ValueError, RecursionError) as error:
            raise error_type(f"{file}, line {number}: this is not JSON") from error
        if not isinstance(value, dict):
            raise error_type(f"{file}, line {number}: this is not a JSON object")
        yield number, value


def _lines(file: Path, errors: str, error_type: type[SemblanceError], advance: Advance) -> Iterator[tuple[int, str]]:
    """Stream the lines of a file with their numbers; nothing for an empty file."""
    try:
        with file.open("rb") as stream:
            # only \n ends a line: str.splitlines also splits at characters that occur inside sentences
            for number, raw in enumerate(stream, 1):
                advance(len(raw))
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                yield number, line.removesuffix(b"\n").decode("utf-8", errors).removesuffix("\r")
    except OSError as error:
        raise error_type(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise error_type(f"{file}, line {number}: this is not UTF-8") from error


def _no_callback(_new_bytes: int) -> None:
    pass
