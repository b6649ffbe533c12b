"""Files of pages, alone or in a folder, as rows for `semblance index`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance, format_suffix
from semblance.service.files.isolated import IsolatedFiles, NamedFile
from semblance.service.files.sources import PAGES, SUFFIXES, Format, Reading, RowProblem, SourceRow

IN_FOLDERS: Mapping[str, Format] = {
    **{suffix: each for suffix, each in SUFFIXES.items() if each in (*PAGES, "json")},
    ".txt": "text",
}
"""Formats of the files that are read in a folder, by suffix."""


class PageFolder:
    """Files as documents, each read by a process of its own within bounds.

    Files of a folder are read by their suffix, also in folders below, in the order of their names. Hidden ones, those
    of another suffix, and links that lead out of the folder are left out.

    Args:
        path: the folder, or one file.
        reading: how to read the files.

    Raises:
        BadDataSet: a folder without any file to read.
    """

    unit: ClassVar[Literal["file"]] = "file"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()

    def __init__(self, path: Path, reading: Reading) -> None:
        self.reading = reading
        self.left_out: Counter[str] = Counter()
        self._files = list(self._found(path)) if path.is_dir() else [NamedFile(path, path.name, reading.format)]
        self.size = len(self._files)
        if not self._files:
            known = ", ".join(sorted(IN_FOLDERS))
            raise BadDataSet(f"{path} has no files that end in {known}; name tables, such as .csv, one by one")

    @property
    def names(self) -> set[str]:
        """Names of all files, relative to the folder."""
        return {each.name for each in self._files}

    def name_of(self, number: int) -> str:
        """Name of a file, relative to the folder."""
        return self._files[number - 1].name

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """Their documents, each with the number of its file."""
        number = 0
        for line in IsolatedFiles(self._files, self.reading).lines():
            if "file" in line:
                number += 1
                if advance is not None:
                    advance(1)
            elif "read" not in line:
                yield SourceRow(number, _fields(line))

    def _found(self, folder: Path) -> Iterator[NamedFile]:
        root = folder.resolve()
        for place, folders, names in os.walk(root):  # which does not follow links to folders
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            for name in sorted(each for each in names if not each.startswith(".")):
                file = Path(place, name)
                suffix = format_suffix(file)
                if file.is_symlink() and not file.resolve().is_relative_to(root):
                    self.left_out["links out of the folder"] += 1
                elif suffix in IN_FOLDERS:
                    yield NamedFile(file, file.relative_to(root).as_posix(), IN_FOLDERS[suffix])
                else:
                    self.left_out[suffix or "without a suffix"] += 1


def _fields(line: Mapping[str, Any]) -> Mapping[str, Any] | RowProblem:
    return RowProblem(**line["problem"]) if "problem" in line else line["document"]
