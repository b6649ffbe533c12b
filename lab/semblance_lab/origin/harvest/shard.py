"""A shard of a harvest on disk: atomically written Parquet files in a locked folder."""

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
from semblance.models.files.resumable import resumable_folder
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.scoring.scoring import FORMS

ABOUT = "harvest.json"
METADATA = b"semblance"
COLUMNS = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        *((form, pa.float64()) for form in FORMS),
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
    """Files of a shard.

    The name of a file contains its number and the first 16 digits of its SHA-256, so that changed bytes are detected.
    `harvest.json` and the metadata of every file contain the provenance of the shard.
    """

    folder: Path

    def lock(self, about: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Create or reopen the folder for this provenance, locked to this process.

        Raises:
            BadHarvest: it belongs to another harvest, another process is writing there, or it cannot be written.
            BadCheckpoint: its provenance cannot be read.
        """
        return resumable_folder(self.folder / ABOUT, about, BadHarvest)

    def about(self) -> Mapping[str, Any]:
        """Read its provenance.

        Raises:
            BadHarvest: it is missing or broken.
        """
        try:
            about: Mapping[str, Any] = read_json(self.folder / ABOUT, dict)
        except BadCheckpoint as error:
            raise BadHarvest(f"{self.folder} is not a shard of a harvest: {error}") from error
        return about

    def files(self) -> dict[int, Path]:
        """Files by number, damaged ones included."""
        named = ((_NAME.fullmatch(each.name), each) for each in sorted(self.folder.iterdir()))
        return {int(name[1]): file for name, file in named if name}

    def read(self, file: Path) -> pa.Table:
        """Read one of the files.

        Raises:
            BadHarvest: it is damaged, or of another harvest.
        """
        try:
            name = _NAME.fullmatch(file.name)
            if name is None or _digest(file) != name[2]:
                raise BadHarvest(f"{file} is damaged: its bytes have changed since it was written")
            table = pq.read_table(file)
        except (OSError, pa.ArrowException) as error:
            raise BadHarvest(f"{file} cannot be read: {error}") from error
        if json.loads((table.schema.metadata or {}).get(METADATA, b"null")) != self.about():
            raise BadHarvest(f"{file} is of another harvest than {self.folder / ABOUT}")
        if not table.schema.equals(COLUMNS):
            raise BadHarvest(f"{file} does not have the columns of a harvest")
        return table

    def write(self, number: int, table: pa.Table) -> None:
        """Write a file under a temporary name, flush it to disk, and rename it.

        Raises:
            BadHarvest: it cannot be written, as on a full disk.
        """
        temporary = self.folder / f"part-{number:06}.partial"
        try:
            pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(self.about())}), temporary)
            publish(temporary, self.folder / f"part-{number:06}-{_digest(temporary)}.parquet")
        except (OSError, pa.ArrowException) as error:
            raise BadHarvest(f"{self.folder} cannot be written ({error}): pairs harvested before are kept") from error


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()[:16]
