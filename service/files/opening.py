"""Open a file of documents by its format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from semblance.service.files.formats.json_files import JsonLinesFile, open_json
from semblance.service.files.formats.page_files import PageFile
from semblance.service.files.formats.plain_lines import TextLines
from semblance.service.files.formats.tables import DelimitedText
from semblance.service.files.sources import Reading, RowSource, format_of

AUTOMATIC = Reading()


def open_source(file: Path, reading: Reading = AUTOMATIC, name: str = "") -> RowSource:
    """Open a file of documents.

    Args:
        file: the file; CSV, TSV, JSON and lines may be compressed, with the additional suffix `.gz`.
        reading: what is known of how to read it.
        name: of a page, relative to its folder; by default that of the file.

    Raises:
        BadDataSet: the suffix is unknown, or the file cannot be read.
        MissingExtra: PDF or DOCX without the extra `files`.
        ModuleNotFoundError: Parquet without pyarrow, which the extra `parquet` installs.
    """
    reading = replace(reading, format=reading.format or format_of(file))
    match reading.format:
        case "csv" | "tsv":
            return DelimitedText(file, reading)
        case "jsonl":
            return JsonLinesFile(file, reading)
        case "json":
            return open_json(file, reading)
        case "lines":
            return TextLines(file, reading)
        case "parquet":
            from semblance.service.files.formats.parquet import ParquetTable  # noqa: PLC0415 - needs pyarrow

            return ParquetTable(file)
        case _:
            return PageFile(file, name or file.name, reading)
