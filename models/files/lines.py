"""Files of lines, read so that every complaint names file and line: plain ones, and one JSON object a line.

A byte order mark and the carriage returns of Windows are taken off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from semblance.models.errors import BadDataSet, SemblanceError

Advance: TypeAlias = Callable[[int], None]
"""Is told how much more is done, for whoever watches."""


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
    lines = list(_lines(file, errors, refusal, _unwatched))
    return lines or [(1, "")]


def json_lines(
    file: Path, refusal: type[SemblanceError] = BadDataSet, advance: Advance | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one JSON object a line, and their line numbers; empty lines are skipped.

    Args:
        file: what to read, one line in memory at a time.
        refusal: the error, where the file is something else than data.
        advance: is told how many more bytes are read.

    Raises:
        refusal: the file cannot be read, or a line is not a JSON object.
    """
    for number, line in _lines(file, "strict", refusal, advance or _unwatched):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            json.dumps(found, ensure_ascii=False).encode()  # half a character, such as \ud800, is no text
        except (ValueError, RecursionError) as error:
            raise refusal(f"{file}, line {number}: this is not JSON") from error
        if not isinstance(found, dict):
            raise refusal(f"{file}, line {number}: this is not a JSON object")
        yield number, found


def _lines(file: Path, errors: str, refusal: type[SemblanceError], advance: Advance) -> Iterator[tuple[int, str]]:
    """The lines of a file and their numbers, as they are read; none of an empty file."""
    try:
        with file.open("rb") as stream:
            # only \n ends a line: str.splitlines would also cut at characters that stand inside sentences
            for number, raw in enumerate(stream, 1):
                advance(len(raw))
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                yield number, line.removesuffix(b"\n").decode("utf-8", errors).removesuffix("\r")
    except OSError as error:
        raise refusal(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise refusal(f"{file}, line {number}: this is not UTF-8") from error


def _unwatched(_more: int) -> None:
    pass
