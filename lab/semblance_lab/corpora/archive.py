"""Read folders of tweets: JSON streams, compressed or not, and tables."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance
from semblance_lab.corpora.tweets import NO_FIELDS, NOT_JSON, Tally, Tweet, TweetRejected, parse_tweet

_READERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".json.bz2": bz2.BZ2File,
    ".json.gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".jsonl": lambda stream: stream,
    ".json": lambda stream: stream,
    ".tsv": lambda stream: stream,
}
_NEEDED = ("id", "text")


def tweet_files(path: Path) -> list[Path]:
    """The files with tweets in a folder at any depth, ordered by path; or the one file.

    Raises:
        BadDataSet: no such file.
    """
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    readable = [file for file in files if _suffix(file)]
    if not readable:
        raise BadDataSet(f"{path} contains no files of tweets; names must end in {', '.join(_READERS)}")
    return readable


def read_tweets(files: Sequence[Path], tally: Tally, advance: Advance) -> Iterator[Tweet]:
    """Read tweets from files of one JSON object a line, or tab-separated tables.

    Tables have a header with at least the columns id and text. Rejected lines are skipped and counted by reason. A
    truncated compressed file is read up to the break, and listed in the tally.

    Args:
        files: from `tweet_files`.
        tally: counts kept and rejected lines.
        advance: callback that receives the number of bytes read from disk since the last call.

    Raises:
        BadDataSet: a file cannot be opened, or a table lacks a column.
    """
    for file in files:
        is_table = file.suffix == ".tsv"
        for row in table_rows(file, _NEEDED, tally, advance) if is_table else _json_rows(file, tally, advance):
            if (tweet := _parse(row, tally)) is not None:
                yield tweet


def _parse(row: dict[str, Any] | str, tally: Tally) -> Tweet | None:
    """Parse and count the tweet of a row, if usable; a string says why a row is invalid."""
    try:
        if isinstance(row, str):
            raise TweetRejected(row)  # noqa: TRY301 - counted in the same way as the rejections of `parse_tweet`
        tweet = parse_tweet(row, tally)
    except TweetRejected as rejection:
        tally.refused[rejection.reason] += 1
        return None
    tally.kept += 1
    return tweet


def table_rows(file: Path, needed: Sequence[str], tally: Tally, advance: Advance) -> Iterator[dict[str, Any] | str]:
    """Read the rows of a tab-separated table with a header; a string replaces an invalid row.

    Unlike in tables of benchmarks, invalid rows are not an error, because archives always have some.

    Raises:
        BadDataSet: the file cannot be opened, or lacks a needed column.
    """
    lines = _lines(file, tally, advance)
    names = _fields(next(lines, b""))
    if missing := [name for name in needed if name not in names]:
        raise BadDataSet(f"{file}, line 1: no column is named {', '.join(missing)} (fields are separated by tabs)")
    for line in lines:
        tally.lines += 1
        fields = _fields(line)
        yield dict(zip(names, fields, strict=True)) if len(fields) == len(names) else NO_FIELDS


def _json_rows(file: Path, tally: Tally, advance: Advance) -> Iterator[dict[str, Any] | str]:
    for line in _lines(file, tally, advance):
        tally.lines += 1
        try:
            row = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            row = None
        yield row if isinstance(row, dict) else NOT_JSON


def _lines(file: Path, tally: Tally, advance: Advance) -> Iterator[bytes]:
    """The non-empty lines of a file, up to the point where it is damaged."""
    before = 0
    try:
        with file.open("rb") as stream:
            try:
                for line in _READERS[_suffix(file)](stream):
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
    """Split a line of a table; invalid UTF-8 becomes lone surrogates, which are rejected later."""
    return line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").decode("utf-8", "surrogateescape").split("\t")


def _suffix(file: Path) -> str:
    """The suffix of a file of tweets; an empty string for other files."""
    return next((suffix for suffix in _READERS if file.name.endswith(suffix)), "")
