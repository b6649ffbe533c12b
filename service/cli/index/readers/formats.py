"""Formats of files of documents, by name and by suffix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from semblance.models.errors import BadDataSet
from semblance.service.cli.index.readers.delimited import DelimitedText
from semblance.service.cli.index.readers.json_lines import JsonLinesFile
from semblance.service.cli.index.readers.source import RowSource

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "tsv"]

SUFFIXES: Mapping[str, Format] = {
    ".csv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".tab": "tsv",
    ".tsv": "tsv",
}


def open_source(file: Path, name: Format | None) -> RowSource:
    """Open a file of documents.

    Args:
        file: the file; CSV, TSV and JSONL may be compressed, with the additional suffix `.gz`.
        name: its format, None to tell by the suffix.

    Raises:
        BadDataSet: the suffix is unknown, or the file cannot be read.
        ModuleNotFoundError: Parquet without pyarrow, which the extra `parquet` installs.
    """
    match name or format_of(file):
        case "csv":
            return DelimitedText(file, "comma")
        case "tsv":
            return DelimitedText(file, "tab")
        case "parquet":
            from semblance.service.cli.index.readers.parquet import ParquetTable  # noqa: PLC0415 - needs pyarrow

            return ParquetTable(file)
        case _:
            return JsonLinesFile(file)


def format_of(file: Path) -> Format:
    """Format of a file by its suffix.

    Raises:
        BadDataSet: it is unknown.
    """
    suffix = _suffix(file)
    if suffix not in SUFFIXES:
        raise BadDataSet(
            f"{file}: no format has the suffix {suffix!r}; pass --format with one of {', '.join(get_args(Format))}"
        )
    return SUFFIXES[suffix]


def is_readable(file: Path) -> bool:
    """Whether the suffix of a file tells its format."""
    return _suffix(file) in SUFFIXES


def _suffix(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).suffix
