"""Create and read backup folders: a SQLite file, and `manifest.json`, which is written last."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from semblance.models.files.atomic import fsync, write_json
from semblance.models.files.digests import digest
from semblance.service.documents.databases.sqlite import merge_log, read_only_engine, sqlite_engine
from semblance.service.documents.migrations import NEWEST, migrate
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import BadBackup

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "documents.sqlite"


@dataclass(frozen=True, slots=True)
class BackupCollection:
    """A collection in a backup. The field names are those of the manifest."""

    name: str
    version: str
    documents: int


@dataclass(frozen=True, slots=True)
class Backup:
    """Manifest of a backup; `tables` is a migration, `size` and `sha256` are of the database."""

    format: int
    release: str
    time: str
    tables: str
    size: int
    sha256: str
    collections: Sequence[BackupCollection]


@contextmanager
def create(folder: Path) -> Iterator[SqlDocumentStore]:
    """Yield an empty store to fill; the manifest is written when the block succeeds."""
    store = SqlDocumentStore(sqlite_engine(folder / DATABASE))
    try:
        yield store
        collections = [BackupCollection(each.name, str(each.version), size.documents) for each, size in store.sizes()]
    finally:
        store.close()
    merge_log(folder / DATABASE)
    fsync(folder / DATABASE)
    _write_manifest(folder, collections)


def verify(folder: Path) -> Backup:
    """Read the manifest, and check the database file against it.

    Raises:
        BadBackup: the folder has no backup, or one that is unfinished, damaged, or of a later release.
    """
    backup = _read_manifest(folder)
    if (backup.size, backup.sha256) != _size_and_sha256(folder):
        raise BadBackup(f"{folder / DATABASE} is damaged; use another backup")
    return backup


@contextmanager
def open_store(folder: Path, backup: Backup) -> Iterator[SqlDocumentStore]:
    """Open the store of a verified backup for reading. Nothing in the folder changes."""
    with _migrated(folder / DATABASE, backup) as file:
        store = SqlDocumentStore(read_only_engine(file))
        try:
            yield store
        finally:
            store.close()


@contextmanager
def _migrated(file: Path, backup: Backup) -> Iterator[Path]:
    """Yield the file, or a migrated temporary copy if it is of an earlier release."""
    if backup.tables == NEWEST:
        yield file
        return
    with TemporaryDirectory(prefix="semblance-restore-") as scratch:
        copy = Path(scratch, DATABASE)
        shutil.copyfile(file, copy)
        engine = sqlite_engine(copy)
        migrate(engine)
        engine.dispose()
        merge_log(copy)
        yield copy


def _write_manifest(folder: Path, collections: Sequence[BackupCollection]) -> None:
    size, sha256 = _size_and_sha256(folder)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    content = asdict(Backup(FORMAT, version("semblance-server"), time, NEWEST, size, sha256, collections))
    write_json(folder / MANIFEST, {"backup": content, "sha256": digest(**content)})


def _read_manifest(folder: Path) -> Backup:
    file = folder / MANIFEST
    if not file.is_file():
        raise BadBackup(f"{folder} has no {MANIFEST}: it is no backup, or one that was not finished")
    try:
        manifest = json.loads(file.read_text("utf-8"))
        content, intact = manifest["backup"], digest(**manifest["backup"]) == manifest["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadBackup(f"{file} is damaged; use another backup") from error
    if not intact:
        raise BadBackup(f"{file} is damaged; use another backup")
    if content["format"] > FORMAT or content["tables"] > NEWEST:
        raise BadBackup(f"the backup in {folder} was made by a later release: restore it with {content['release']}")
    return Backup(**{**content, "collections": [BackupCollection(**each) for each in content["collections"]]})


def _size_and_sha256(folder: Path) -> tuple[int, str]:
    """Size and digest of the database file. Raises BadBackup if it is missing."""
    try:
        with (folder / DATABASE).open("rb") as stream:
            return (folder / DATABASE).stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise BadBackup(f"{folder} lacks {DATABASE}; use another backup") from error
