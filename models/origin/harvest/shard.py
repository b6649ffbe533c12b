"""A shard of a harvest on disk: files of Parquet, each whole or not there, in a folder for one process at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from models.durable_files import sync
from models.errors import BadCheckpoint
from models.model_files import read_json
from models.origin.errors import BadHarvest

ABOUT = "harvest.json"
LOCK = "lock"
METADATA = b"semblance"
COLUMNS = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("cosine", pa.float64()),
        ("centred", pa.float64()),
        ("kind", pa.string()),
        ("bundle", pa.int64()),
        ("number1", pa.int64()),
        ("number2", pa.int64()),
        ("fallback", pa.bool_()),
    ]
)

_NAME = re.compile(r"part-(\d{6})-([0-9a-f]{16})\.parquet")


@dataclass(frozen=True, slots=True)
class Shard:
    """The files of a shard.

    A file is named by its number and by the first 16 digits of its SHA-256, so that one whose bytes changed is known.
    `harvest.json` says what the shard was made of, and so does the metadata of every file.
    """

    folder: Path

    @contextmanager
    def claimed(self, about: Mapping[str, Any]) -> Iterator[None]:
        """The folder, new or of the same harvest, while no other process has it.

        Raises:
            BadHarvest: another harvest lies there, another process writes there, or it cannot be made or written.
        """
        with self._written():
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / LOCK)
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise BadHarvest(f"another process harvests into {self.folder}") from error
        with lock:
            self._require_same(about)
            yield

    def about(self) -> Mapping[str, Any]:
        """What it was made of.

        Raises:
            BadHarvest: it does not say.
        """
        try:
            found: Mapping[str, Any] = read_json(self.folder / ABOUT, dict)
        except BadCheckpoint as error:
            raise BadHarvest(f"{self.folder} is no shard of a harvest: {error}") from error
        return found

    def files(self) -> dict[int, Path]:
        """The files by their numbers, damaged ones too."""
        named = ((_NAME.fullmatch(each.name), each) for each in sorted(self.folder.iterdir()))
        return {int(name[1]): file for name, file in named if name}

    def read(self, file: Path) -> pa.Table:
        """One of the files.

        Raises:
            BadHarvest: it is damaged, or of another harvest.
        """
        try:
            name = _NAME.fullmatch(file.name)
            if name is None or _digest(file) != name[2]:
                raise BadHarvest(f"{file} is damaged: its bytes are not those that were written")
            table = pq.read_table(file)
        except (OSError, pa.ArrowException) as error:
            raise BadHarvest(f"{file} cannot be read: {error}") from error
        if json.loads((table.schema.metadata or {}).get(METADATA, b"null")) != self.about():
            raise BadHarvest(f"{file} is of another harvest than {self.folder / ABOUT} says")
        if not table.schema.equals(COLUMNS):
            raise BadHarvest(f"{file} has not the columns of a harvest")
        return table

    def write(self, number: int, table: pa.Table) -> None:
        """Write a file aside, bring it to disk, and give it its name.

        Raises:
            BadHarvest: a disk is full, say.
        """
        aside = self.folder / f"part-{number:06}.partial"
        with self._written():
            pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(self.about())}), aside)
            sync(aside)
            aside.rename(self.folder / f"part-{number:06}-{_digest(aside)}.parquet")
            sync(self.folder)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise BadHarvest(f"{self.folder} cannot be written ({error}): what was harvested before is kept") from error

    def _require_same(self, about: Mapping[str, Any]) -> None:
        if not (self.folder / ABOUT).exists():
            aside = self.folder / f"{ABOUT}.partial"
            if strangers := [each.name for each in self.folder.iterdir() if each.name not in (LOCK, aside.name)]:
                raise BadHarvest(f"{self.folder} holds {strangers[0]}, which no harvest left: name another folder")
            with self._written():
                aside.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
                sync(aside)
                aside.rename(self.folder / ABOUT)
                sync(self.folder)
        elif changed := differing(json.loads(json.dumps(about)), self.about()):
            raise BadHarvest(
                f"{self.folder} holds a harvest with another value of {', '.join(changed)}: start it as it was, remove "
                "that folder, or name another one"
            )


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names under which two harvests do not say the same, but for the version that made them.

    >>> differing({"seed": 1, "teacher": {"size": 100}}, {"seed": 1, "teacher": {"size": 500}})
    ['teacher.size']
    """
    left, right = dict(_flat(one)), dict(_flat(other))
    names = sorted((left.keys() | right.keys()) - {"semblance"})
    return [name for name in names if left.get(name) != right.get(name)]


def _flat(about: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in about.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{of}{name}.")
        else:
            yield f"{of}{name}", value


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()[:16]
