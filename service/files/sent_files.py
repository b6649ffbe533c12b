"""Files of a request, read by a process of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from semblance_client.vocabulary.files import FilesRequest, SentFile

from semblance.models.files.lines import format_suffix
from semblance.service.files.folder import IN_FOLDERS
from semblance.service.files.isolated import IsolatedFiles, NamedFile
from semblance.service.files.sources import SUFFIXES, Format, Reading

CONCURRENT = 2  # requests; each has a process, and further ones wait

_UNREAD: Mapping[str, Any] = {
    "format": None,
    "encoding": None,
    "separator": None,
    "columns": None,
    "unnamed": [],
    "text_fields": [],
    "id_field": None,
}


class SentFiles:
    """Reads the files of requests."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(CONCURRENT)

    async def read(self, request: FilesRequest) -> bytes:
        """A `FilesRead` as JSON. A request that is cancelled ends its process."""
        async with self._turns:
            with TemporaryDirectory(prefix="semblance-files-", ignore_cleanup_errors=True) as folder:
                reading = Reading(request.format, request.encoding, request.separator)
                named = _named(request.files, Path(folder), reading.format)
                files = IsolatedFiles(named, reading, request.text_fields, request.id_field)
                try:
                    return await asyncio.to_thread(_content, files, request.files, named)
                except asyncio.CancelledError:
                    files.stop()
                    raise


def _named(files: Sequence[SentFile], folder: Path, kind: Format | None) -> list[NamedFile]:
    """Places of the files: never at a path that a client named."""
    formats = SUFFIXES if len(files) == 1 else {**SUFFIXES, **IN_FOLDERS}
    return [
        NamedFile(
            folder / f"{number}{_suffix(each.name)}", each.name, kind or formats.get(format_suffix(Path(each.name)))
        )
        for number, each in enumerate(files)
    ]


def _suffix(name: str) -> str:
    """The end of a name that tells how to read it, if it is a known one."""
    lower = PurePosixPath(name.lower())
    suffix = format_suffix(Path(lower.name))
    return (suffix if suffix.isascii() and suffix[1:].isalnum() else "") + (".gz" if lower.suffix == ".gz" else "")


def _content(files: IsolatedFiles, sent: Sequence[SentFile], named: Sequence[NamedFile]) -> bytes:
    for each, file in zip(sent, named, strict=True):
        file.path.write_bytes(each.content)
    return orjson.dumps({"files": list(_gathered(files.lines()))})


def _gathered(lines: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The content of each file."""
    content: dict[str, Any] = {}
    for line in lines:
        if "file" in line:
            if content:
                yield content
            content = {"name": line["file"], **_UNREAD, "documents": [], "problems": []}
        elif "read" in line:
            content |= line["read"]
        else:
            place = next((f"{unit} {line[unit]}" for unit in ("line", "page", "row") if unit in line), "")
            kind = "documents" if "document" in line else "problems"
            content[kind].append({"place": place, **(line.get("document") or line["problem"])})
    if content:
        yield content
