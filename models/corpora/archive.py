"""Folders of tweets: compressed streams of JSON, plain ones, and tables."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from semblance.models.corpora.tweet_json import tweet_of
from semblance.models.corpora.tweets import NO_FIELDS, NOT_JSON, Refused, Tally, Tweet
from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance

_OPENED_BY: dict[str, Callable[[BinaryIO], Any]] = {
    ".json.bz2": bz2.BZ2File,
    ".json.gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".jsonl": lambda stream: stream,
    ".json": lambda stream: stream,
    ".tsv": lambda stream: stream,
}
_NEEDED = ("id", "text")


def tweet_files(path: Path) -> list[Path]:
    """The files with tweets under a folder at any depth, in the order of their names; or the one file.

    Raises:
        BadDataSet: there are none.
    """
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    found = [file for file in files if _kind(file)]
    if not found:
        raise BadDataSet(f"{path} holds no tweets: names must end in {', '.join(_OPENED_BY)}")
    return found


def read_tweets(files: Sequence[Path], tally: Tally, advance: Advance) -> Iterator[Tweet]:
    """The tweets of files, one JSON object a line or a table by tabs whose header names at least id and text.

    A line that will not do is counted by its reason and passed over. A compressed file that breaks off is read up to
    there, and named.

    Args:
        files: what `tweet_files` found.
        tally: counts what becomes of the lines.
        advance: is told how many bytes of the files, as they lie on disk, have been read since the last call.

    Raises:
        BadDataSet: a file cannot be opened, or a table lacks a column.
    """
    for file in files:
        is_table = file.suffix == ".tsv"
        for row in table_rows(file, _NEEDED, tally, advance) if is_table else _json_rows(file, tally, advance):
            if (tweet := _kept(row, tally)) is not None:
                yield tweet


def _kept(row: dict[str, Any] | str, tally: Tally) -> Tweet | None:
    """The tweet of a row, or of the reason why it is none; counted either way."""
    try:
        if isinstance(row, str):
            raise Refused(row)  # noqa: TRY301 - counted in the same way as those that `tweet_of` refuses
        tweet = tweet_of(row, tally)
    except Refused as refused:
        tally.refused[refused.reason] += 1
        return None
    tally.kept += 1
    return tweet


def table_rows(file: Path, needed: Sequence[str], tally: Tally, advance: Advance) -> Iterator[dict[str, Any] | str]:
    """The rows of a table by tabs whose first line names its columns; a reason in the place of one that will not do.

    Unlike the tables of benchmarks, of which any odd row is refused: archives always have some.

    Raises:
        BadDataSet: the file cannot be opened, or lacks a needed column.
    """
    lines = _lines(file, tally, advance)
    names = _fields(next(lines, b""))
    if missing := [name for name in needed if name not in names]:
        raise BadDataSet(f"{file}, line 1: no column is named {', '.join(missing)} (fields are parted by tabs)")
    for line in lines:
        tally.lines += 1
        fields = _fields(line)
        yield dict(zip(names, fields, strict=True)) if len(fields) == len(names) else NO_FIELDS


def _json_rows(file: Path, tally: Tally, advance: Advance) -> Iterator[dict[str, Any] | str]:
    for line in _lines(file, tally, advance):
        tally.lines += 1
        try:
            found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            found = None
        yield found if isinstance(found, dict) else NOT_JSON


def _lines(file: Path, tally: Tally, advance: Advance) -> Iterator[bytes]:
    """The lines of a file that are not empty, up to where it breaks."""
    before = 0
    try:
        with file.open("rb") as stream:
            try:
                for line in _OPENED_BY[_kind(file)](stream):
                    if line.strip():
                        yield line
                    if (now := stream.tell()) > before:
                        advance(now - before)
                        before = now
            except (EOFError, OSError, zlib.error):
                tally.damaged.append(file)
            advance(file.stat().st_size - before)
    except OSError as error:
        raise BadDataSet(f"{file} cannot be read: {error.strerror}") from error


def _fields(line: bytes) -> list[str]:
    """The fields of a line of a table; bytes that are not UTF-8 are half characters, which are refused later."""
    return line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").decode("utf-8", "surrogateescape").split("\t")


def _kind(file: Path) -> str:
    """How its name ends, if so that there are tweets in it; else an empty string."""
    return next((ending for ending in _OPENED_BY if file.name.endswith(ending)), "")
