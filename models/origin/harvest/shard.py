"""A shard of a harvest on disk: files of Parquet, each whole or not there, in a folder for one process at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import publish
from semblance.models.files.json_file import read_json
from semblance.models.files.resumable import claimed
from semblance.models.origin.errors import BadHarvest

ABOUT = "harvest.json"
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

    def claimed(self, about: Mapping[str, Any]) -> AbstractContextManager[None]:
        """The folder, new or of the same harvest, while no other process has it.

        Raises:
            BadHarvest: another harvest lies there, another process writes there, or it cannot be made or written.
            BadCheckpoint: what lies there does not say what it was made of.
        """
        return claimed(self.folder / ABOUT, about, BadHarvest)

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
        try:
            pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(self.about())}), aside)
            publish(aside, self.folder / f"part-{number:06}-{_digest(aside)}.parquet")
        except (OSError, pa.ArrowException) as error:
            raise BadHarvest(f"{self.folder} cannot be written ({error}): what was harvested before is kept") from error


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()[:16]
