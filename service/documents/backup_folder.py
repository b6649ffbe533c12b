"""A backup: one SQLite file with everything of a store, and `manifest.json`, written last, which vouches for it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from semblance.models.files.atomic import sync, write_json
from semblance.service.documents.migrations import NEWEST, migrate
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import make_whole, sealed_engine, sqlite_engine
from semblance.service.errors import BadBackup

FORMAT = 1
MANIFEST = "manifest.json"
DATABASE = "documents.sqlite"


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A collection in a backup."""

    name: str
    version: str
    documents: int


@dataclass(frozen=True, slots=True)
class Backup:
    """What the manifest says: which release made it and when, the step of its tables, and what the file must be."""

    format: int
    release: str
    time: str
    tables: str
    size: int
    sha256: str
    collections: Sequence[BackedUp]


@contextmanager
def written(folder: Path) -> Iterator[SqlDocumentStore]:
    """An empty store in `folder`, to be filled in the block; once that ends well, the folder is a backup."""
    store = SqlDocumentStore(sqlite_engine(folder / DATABASE))
    try:
        yield store
        held = [BackedUp(each.name, str(each.version), size.documents) for each, size in store.sizes()]
    finally:
        store.close()
    make_whole(folder / DATABASE)
    sync(folder / DATABASE)
    _write_manifest(folder, held)


def check(folder: Path) -> Backup:
    """What a backup holds, once its file has proved to be the one that was written.

    Raises:
        BadBackup: it is none, was not finished, is damaged, or is of a later release.
    """
    backup = _read_manifest(folder)
    if (backup.size, backup.sha256) != _file(folder):
        raise BadBackup(f"{folder / DATABASE} is damaged: it is not the file that was written; take another backup")
    return backup


@contextmanager
def opened(folder: Path, backup: Backup) -> Iterator[SqlDocumentStore]:
    """The store in a backup that was checked, to be read. Nothing in the folder changes."""
    with _as_now(folder / DATABASE, backup) as file:
        store = SqlDocumentStore(sealed_engine(file))
        try:
            yield store
        finally:
            store.close()


@contextmanager
def _as_now(file: Path, backup: Backup) -> Iterator[Path]:
    """The file with the tables of this release: where those of the backup are older, a copy that is brought up."""
    if backup.tables == NEWEST:
        yield file
        return
    with TemporaryDirectory(prefix="semblance-restore-") as scratch:
        copy = Path(scratch, DATABASE)
        shutil.copyfile(file, copy)
        engine = sqlite_engine(copy)
        migrate(engine)
        engine.dispose()
        make_whole(copy)
        yield copy


def _write_manifest(folder: Path, held: Sequence[BackedUp]) -> None:
    size, sha256 = _file(folder)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    content = asdict(Backup(FORMAT, version("semblance-server"), time, NEWEST, size, sha256, held))
    write_json(folder / MANIFEST, {"backup": content, "sha256": _seal(content)})


def _read_manifest(folder: Path) -> Backup:
    file = folder / MANIFEST
    if not file.is_file():
        raise BadBackup(f"{folder} holds no backup, or one that was not finished: there is no {MANIFEST} in it")
    try:
        found = json.loads(file.read_text("utf-8"))
        content, sha256 = found["backup"], found["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise BadBackup(f"{file} is damaged: take another backup") from error
    if _seal(content) != sha256:
        raise BadBackup(f"{file} is damaged: take another backup")
    if content["format"] > FORMAT or content["tables"] > NEWEST:
        raise BadBackup(f"the backup in {folder} was made by a later release: restore it with {content['release']}")
    return Backup(**{**content, "collections": [BackedUp(**each) for each in content["collections"]]})


def _file(folder: Path) -> tuple[int, str]:
    """Size and digest of the database file; BadBackup if there is none."""
    try:
        with (folder / DATABASE).open("rb") as stream:
            return (folder / DATABASE).stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise BadBackup(f"{folder} lacks {DATABASE}: take another backup") from error


def _seal(content: Mapping[str, Any]) -> str:
    """The digest that tells a damaged manifest."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
