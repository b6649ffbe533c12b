"""Read text and JSON Lines files with line numbers, so that every error names file and line.

A byte order mark and carriage returns at line ends are removed. Files whose names end in `.gz`, in any
case, are decompressed.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from semblance.models.errors import BadDataSet, SemblanceError

MAX_LINE_BYTES = 1 << 26
UTF_8 = "utf-8"

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
    return list(text_lines(file, errors, error_type)) or [(1, "")]


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
    for number, line in text_lines(file, "strict", error_type, advance):
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


def text_lines(
    file: Path,
    errors: str = "strict",
    error_type: type[SemblanceError] = BadDataSet,
    advance: Advance | None = None,
    encoding: str = UTF_8,
) -> Iterator[tuple[int, str]]:
    """As `numbered_lines`, one line at a time; nothing for an empty file."""
    lines = lines_with_returns(file, errors, error_type, advance, encoding)
    return ((number, line.removesuffix("\r")) for number, line in lines)


def lines_with_returns(
    file: Path,
    errors: str = "strict",
    error_type: type[SemblanceError] = BadDataSet,
    advance: Advance | None = None,
    encoding: str = UTF_8,
) -> Iterator[tuple[int, str]]:
    """As `text_lines`, with the carriage returns at line ends."""
    for number, raw in raw_lines(file, error_type, advance, encoding):
        try:
            yield number, raw.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise error_type(f"{file}, line {number}: this is not UTF-8; save the file as UTF-8") from error


def raw_lines(
    file: Path,
    error_type: type[SemblanceError] = BadDataSet,
    advance: Advance | None = None,
    encoding: str = UTF_8,
) -> Iterator[tuple[int, bytes]]:
    """Lines of a file as bytes in UTF-8, with their numbers from 1 and without line feeds.

    Args:
        file: the file to read, one line at a time.
        error_type: the error to raise, where the file is not a data set.
        advance: progress callback; of a compressed file, it receives the compressed bytes.
        encoding: of the file; bytes in UTF-8 are not checked.

    Raises:
        error_type: the file cannot be read, decompressed or decoded, or a line has more than `MAX_LINE_BYTES`.
    """
    number = position = 0
    try:
        with file.open("rb") as stored, decompressed(file, stored) as stream:
            # only \n ends a line: str.splitlines also splits at characters that occur inside sentences
            readline = stream.readline if encoding == UTF_8 else _Transcoded(stream, encoding).readline
            for number, raw in enumerate(iter(partial(readline, MAX_LINE_BYTES + 1), b""), 1):
                if len(raw) > MAX_LINE_BYTES:  # a small compressed file may hold one that exceeds the memory
                    raise error_type(f"{file}, line {number}: it has more than {MAX_LINE_BYTES:,} bytes")
                if advance is not None:
                    advance(stored.tell() - position)
                    position = stored.tell()
                yield number, (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).removesuffix(b"\n")
    except UnicodeDecodeError as error:
        raise error_type(f"{file}, after line {number}: this is not {encoding}; name another encoding") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise error_type(f"{file} cannot be decompressed: {error}") from error
    except OSError as error:
        raise error_type(f"{file} cannot be read: {error.strerror}") from error


def format_suffix(file: Path) -> str:
    """The suffix that tells the format of a file, in lower case, without `.gz`.

    >>> format_suffix(Path("Tickets.CSV.gz"))
    '.csv'
    """
    return Path(file.name.lower().removesuffix(".gz")).suffix


def decompressed(file: Path, stored: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """The content of an open file, decompressed if the name of the file ends in `.gz`."""
    return cast("BinaryIO", gzip.GzipFile(fileobj=stored)) if file.suffix.lower() == ".gz" else nullcontext(stored)


class _Transcoded:
    """Lines of a text in another encoding, as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._text = TextIOWrapper(stream, encoding, newline="\n")

    def readline(self, limit: int) -> bytes:
        """The next line. Raises UnicodeDecodeError."""
        return self._text.readline(limit).encode()
