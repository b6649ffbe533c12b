"""Backups are complete and self-contained; any that was altered is refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semblance.models.files.digests import digest
from semblance.service.documents import backup_folder
from semblance.service.documents.backup_folder import DATABASE, MANIFEST
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import BadBackup, SpaceMismatch
from semblance.service.ports.documents import Document, Version, Write
from semblance.service.usecases.maintenance.backup import back_up
from tests.contracts.test_copies import SETTINGS, embedding
from tests.service.documents.test_migrations import FIRST_TABLES


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "truth.sqlite"))
    collection, _ = store.create("c", SETTINGS)
    store.upsert(collection, [Write(Document("a", "A text.", {}), embedding("space-0", "A text."))])
    folder = tmp_path / "backup"
    folder.mkdir()
    with backup_folder.create(folder) as copy:
        back_up(store, copy, lambda _: None)
    store.close()
    return folder


def test_a_backup_is_a_manifest_and_one_self_contained_file(backup: Path) -> None:
    assert sorted(file.name for file in backup.iterdir()) == [DATABASE, MANIFEST]
    manifest = backup_folder.verify(backup)
    assert [(each.name, each.documents) for each in manifest.collections] == [("c", 1)]
    before = (backup / DATABASE).read_bytes()
    assert before[18:20] == b"\1\1", "journal mode of the SQLite header: no write-ahead log"
    with backup_folder.open_store(backup, manifest) as store:
        assert store.get("c", ["a"])["a"].text == "A text."
        assert sorted(file.name for file in backup.iterdir()) == [DATABASE, MANIFEST], "reading creates no files"
    assert (backup / DATABASE).read_bytes() == before


def test_a_changed_byte_is_refused(backup: Path) -> None:
    for name, step in ((MANIFEST, 1), (DATABASE, 997)):
        whole = (backup / name).read_bytes()
        for place in range(0, len(whole), step):
            flipped = bytes([whole[place] ^ 1])
            (backup / name).write_bytes(whole[:place] + flipped + whole[place + 1 :])
            with pytest.raises(BadBackup, match="damaged"):
                backup_folder.verify(backup)
        (backup / name).write_bytes(whole)
    backup_folder.verify(backup)


def test_truncated_and_missing_files_are_refused(backup: Path) -> None:
    whole = (backup / DATABASE).read_bytes()
    (backup / DATABASE).write_bytes(whole[:-1])
    with pytest.raises(BadBackup, match="damaged"):
        backup_folder.verify(backup)
    (backup / DATABASE).unlink()
    with pytest.raises(BadBackup, match=f"lacks {DATABASE}"):
        backup_folder.verify(backup)
    (backup / MANIFEST).unlink()
    with pytest.raises(BadBackup, match="not finished"):
        backup_folder.verify(backup)


def test_a_failed_backup_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(SpaceMismatch), backup_folder.create(tmp_path):
        raise SpaceMismatch
    with pytest.raises(BadBackup, match="not finished"):
        backup_folder.verify(tmp_path)


@pytest.mark.parametrize("change", [{"format": 2}, {"tables": "9999"}])
def test_a_later_release_is_refused_by_name(backup: Path, change: dict[str, Any]) -> None:
    content = json.loads((backup / MANIFEST).read_text())["backup"] | change | {"release": "77.0"}
    (backup / MANIFEST).write_text(json.dumps({"backup": content, "sha256": digest(**content)}))
    with pytest.raises(BadBackup, match=r"later release: restore it with 77\.0"):
        backup_folder.verify(backup)


def test_earlier_tables_are_migrated_in_a_temporary_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.executescript(FIRST_TABLES)
    before = (tmp_path / DATABASE).read_bytes()
    with monkeypatch.context() as earlier:
        earlier.setattr(backup_folder, "NEWEST", "0001")
        backup_folder._write_manifest(tmp_path, [])
    with backup_folder.open_store(tmp_path, backup_folder.verify(tmp_path)) as store:
        assert store.collection("c").version == Version("e1", 1)
        assert store.get("c", ["d"])["d"].text == "A text."
    assert (tmp_path / DATABASE).read_bytes() == before
