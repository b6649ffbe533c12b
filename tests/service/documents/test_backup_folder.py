"""A backup that is not the one that was written is refused, whatever became of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from semblance.service.documents import backup_folder
from semblance.service.documents.backup_folder import DATABASE, MANIFEST
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import BadBackup, SpaceMismatch
from semblance.service.ports.documents import Document, Version, Write
from semblance.service.usecases.backup import back_up
from tests.contracts.test_copies import SETTINGS, made_of
from tests.service.documents.test_migrations import FIRST


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "truth.sqlite"))
    collection, _ = store.create("c", SETTINGS)
    store.upsert(collection, [Write(Document("a", "A text.", {}), made_of("space-0", "A text."))])
    folder = tmp_path / "backup"
    folder.mkdir()
    with backup_folder.written(folder) as copy:
        back_up(store, copy, lambda _: None)
    store.close()
    return folder


def test_it_is_one_file_that_stands_alone_and_a_manifest(backup: Path) -> None:
    assert sorted(file.name for file in backup.iterdir()) == [DATABASE, MANIFEST]
    found = backup_folder.check(backup)
    assert [(each.name, each.documents) for each in found.collections] == [("c", 1)]
    before = (backup / DATABASE).read_bytes()
    assert before[18:20] == b"\1\1", "the file format of SQLite: it needs no log beside it"
    with backup_folder.opened(backup, found) as store:
        assert store.get("c", ["a"])["a"].text == "A text."
        assert sorted(file.name for file in backup.iterdir()) == [DATABASE, MANIFEST], "reading leaves nothing behind"
    assert (backup / DATABASE).read_bytes() == before


def test_any_other_byte_is_refused(backup: Path) -> None:
    for name, step in ((MANIFEST, 1), (DATABASE, 997)):
        whole = (backup / name).read_bytes()
        for place in range(0, len(whole), step):
            flipped = bytes([whole[place] ^ 1])
            (backup / name).write_bytes(whole[:place] + flipped + whole[place + 1 :])
            with pytest.raises(BadBackup, match="damaged"):
                backup_folder.check(backup)
        (backup / name).write_bytes(whole)
    backup_folder.check(backup)


def test_what_is_cut_or_gone_is_refused(backup: Path) -> None:
    whole = (backup / DATABASE).read_bytes()
    (backup / DATABASE).write_bytes(whole[:-1])
    with pytest.raises(BadBackup, match="damaged"):
        backup_folder.check(backup)
    (backup / DATABASE).unlink()
    with pytest.raises(BadBackup, match=f"lacks {DATABASE}"):
        backup_folder.check(backup)
    (backup / MANIFEST).unlink()
    with pytest.raises(BadBackup, match="not finished"):
        backup_folder.check(backup)


def test_one_that_failed_on_the_way_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(SpaceMismatch), backup_folder.written(tmp_path):
        raise SpaceMismatch
    with pytest.raises(BadBackup, match="not finished"):
        backup_folder.check(tmp_path)


@pytest.mark.parametrize("change", [{"format": 2}, {"tables": "9999"}])
def test_one_of_a_later_release_is_refused_by_its_name(backup: Path, change: dict[str, Any]) -> None:
    content = json.loads((backup / MANIFEST).read_text())["backup"] | change | {"release": "77.0"}
    (backup / MANIFEST).write_text(json.dumps({"backup": content, "sha256": backup_folder._seal(content)}))
    with pytest.raises(BadBackup, match=r"later release: restore it with 77\.0"):
        backup_folder.check(backup)


def test_one_with_earlier_tables_is_read_from_a_copy_that_is_brought_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / DATABASE)) as database:
        database.executescript(FIRST)
    before = (tmp_path / DATABASE).read_bytes()
    with monkeypatch.context() as earlier:
        earlier.setattr(backup_folder, "NEWEST", "0001")
        backup_folder._write_manifest(tmp_path, [])
    with backup_folder.opened(tmp_path, backup_folder.check(tmp_path)) as store:
        assert store.collection("c").version == Version("e1", 1)
        assert store.get("c", ["d"])["d"].text == "A text."
    assert (tmp_path / DATABASE).read_bytes() == before
