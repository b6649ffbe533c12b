"""`semblance backup`, `restore` and `snapshot` on the command line, with their failures."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from typer.testing import CliRunner, Result

from semblance.service.cli.main import app
from semblance.service.documents import backup_folder
from semblance.service.documents.databases.lock import lock_home
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.schema import documents
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import BadBackup
from semblance.service.ports.documents import Document, Write
from tests.contracts.test_backups import content
from tests.contracts.test_copies import SETTINGS, embedding
from tests.support.crash_point import CRASHED, CrashPoint, run_in_fork

TEXT = "Many copies of this text make a file larger than the limited disk of a test."


def fill(store: SqlDocumentStore, name: str, count: int) -> None:
    collection, _ = store.create(name, SETTINGS)
    made = embedding("space-0", TEXT)
    store.upsert(collection, [Write(Document(f"{i:04}", TEXT, {"i": i}), made) for i in range(count)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "home" / "documents.sqlite"))
    fill(store, "c", 1000)
    store.close()
    return tmp_path / "home"


def stored(home: Path) -> list[object]:
    engine = sqlite_engine(home / "documents.sqlite")
    rows = content(engine)
    engine.dispose()
    return rows


def semblance(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", **environment})


def semblance_on_full_disk(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `semblance ARGUMENTS` where no file may grow beyond 128 KiB, as on a full disk."""
    limited = ["sh", "-c", 'ulimit -f 256; exec "$@"', "sh", sys.executable, "-m", "semblance.service.cli.main"]
    return subprocess.run([*limited, *arguments], capture_output=True, text=True, check=False)


def test_a_deployment_moves_to_postgresql_and_back(home: Path, postgres: str, tmp_path: Path) -> None:
    before = stored(home)
    for step in (
        partial(semblance, "backup", str(tmp_path / "first"), "--home", str(home)),
        partial(semblance, "restore", str(tmp_path / "first"), SEMBLANCE_DATABASE_URL=postgres),
        partial(semblance, "backup", str(tmp_path / "second"), SEMBLANCE_DATABASE_URL=postgres),
        partial(semblance, "restore", str(tmp_path / "second"), "--home", str(tmp_path / "new")),
    ):
        ran = step()
        assert ran.exit_code == 0, ran.output
    engine = postgresql_engine(postgres, connections=1, timeout_s=10)
    assert content(engine) == before
    engine.dispose()
    assert stored(tmp_path / "new") == before
    for path in (tmp_path / "second", *(tmp_path / "second").iterdir()):
        assert path.stat().st_mode & 0o077 == 0, "it holds texts"


def test_restore_shows_the_changes_and_asks(home: Path, tmp_path: Path) -> None:
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    fill(store, "later", 7)
    store.close()
    before = stored(home)
    unanswered = semblance("restore", str(tmp_path / "backup"), "--home", str(home))
    assert unanswered.exit_code == 1
    assert "later" in unanswered.output
    assert "1,000" in unanswered.output
    assert f"into {home}, from the backup made" in unanswered.output
    assert f"stored now in {home}?" in unanswered.output
    assert stored(home) == before
    assert semblance("restore", str(tmp_path / "backup"), "--home", str(home), "--yes").exit_code == 0
    assert stored(home) != before


def test_backup_and_restore_name_the_place_without_password(
    home: Path, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = semblance("backup", str(tmp_path / "backup"), "--home", str(home))
    assert f"copied from {home}\n" in made.output
    monkeypatch.chdir(tmp_path)
    for _, new in (("first", ", a new folder"), ("again", "")):
        ran = semblance("restore", "backup", "--home", "here", "--yes")
        assert f"into {tmp_path}/here{new}, from the backup made" in ran.output
        assert f"restored into {tmp_path}/here{new}; collections: 1, documents: " in ran.output
    url = postgres.replace("//", "//someone:hidden-word@", 1) if "@" not in postgres else postgres
    ran = semblance("restore", "backup", "--yes", SEMBLANCE_DATABASE_URL=url)
    assert f"restored into PostgreSQL {url.rpartition('@')[2]}; collections: 1, documents: " in ran.output
    assert url.rpartition("@")[0] not in ran.output


def test_a_damaged_store_is_moved_before_a_restore(home: Path, tmp_path: Path) -> None:
    backup = str(tmp_path / "backup")
    assert semblance("backup", backup, "--home", str(home)).exit_code == 0
    (home / "documents.sqlite").write_bytes(b"\x5a" * 20_000)
    ran = semblance("restore", backup, "--home", str(home), "--yes")
    assert ran.exit_code == 1
    assert f"; move {home}/documents.sqlite* to another folder, then restore a backup" in ran.output
    for file in home.glob("documents.sqlite*"):
        file.rename(tmp_path / file.name)
    assert semblance("restore", backup, "--home", str(home), "--yes").exit_code == 0


def test_a_copy_is_no_store(home: Path) -> None:
    (home / "documents.sqlite").rename(home / "copy.sqlite")
    ran = semblance("index", "verify", "--home", str(home))
    assert ran.exit_code == 1
    assert f"{home} has a replica's copy of what PostgreSQL stores" in ran.output


def test_failures_are_messages_and_change_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    url = "postgresql://someone:hidden-word@127.0.0.1:1/none"
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    before = stored(home)
    backup, there, nowhere = str(tmp_path / "backup"), str(home), str(tmp_path / "nowhere")
    with lock_home(home):
        for arguments, environment, message in (
            (["backup", str(tmp_path / "full"), "--home", there], {}, "already exists"),
            (["backup", nowhere, "--home", nowhere], {}, "there are no documents in"),
            (["backup", nowhere], {"SEMBLANCE_DATABASE_URL": url}, "does not answer"),
            (["restore", backup, "--yes"], {"SEMBLANCE_DATABASE_URL": url}, "does not answer"),
            (["restore", nowhere, "--home", there, "--yes"], {}, "has no manifest.json"),
            (["restore", backup, "--home", there, "--yes"], {}, "; stop it first"),
            (["snapshot", nowhere, "--home", nowhere], {}, "name the folder of the service"),
        ):
            ran = semblance(*arguments, **environment)
            assert ran.exit_code == 1
            assert message in ran.output
            assert "hidden-word" not in ran.output
            assert not Path(nowhere).exists()
    assert stored(home) == before


@pytest.mark.slow
def test_a_full_disk_leaves_no_backup_and_no_partial_restore(home: Path, tmp_path: Path) -> None:
    failed = semblance_on_full_disk("backup", str(tmp_path / "backup"), "--home", str(home))
    assert failed.returncode == 1
    assert "no backup was made" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not list(tmp_path.glob("*backup*"))
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    store = SqlDocumentStore(sqlite_engine(tmp_path / "other" / "documents.sqlite"))
    fill(store, "small", 3)
    store.close()
    before = stored(tmp_path / "other")
    failed = semblance_on_full_disk("restore", str(tmp_path / "backup"), "--home", str(tmp_path / "other"), "--yes")
    assert failed.returncode == 1
    assert "nothing was restored" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert stored(tmp_path / "other") == before


@pytest.mark.slow
def test_a_backup_killed_at_any_step_is_absent_or_complete(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "home" / "documents.sqlite"))
    fill(store, "c", 3)
    store.close()
    before, backups = stored(tmp_path / "home"), tmp_path / "backups"

    def back_up_until(at: int) -> None:
        crash = CrashPoint(backups, at)
        crash.install()
        for name in ("before_cursor_execute", "commit"):
            event.listen(Engine, name, lambda *_: crash.step())
        app(["backup", str(backups / "monday"), "--home", str(tmp_path / "home")], standalone_mode=False)

    ends = []
    for at in range(1, 1000, 3):
        shutil.rmtree(backups, ignore_errors=True)
        backups.mkdir()
        status = run_in_fork(partial(back_up_until, at))
        try:
            backup_folder.verify(backups / "monday")
            assert stored(backups / "monday") == before
            ends.append("present")
        except BadBackup:
            ends.append("absent")
        assert stored(tmp_path / "home") == before
        if status != CRASHED:
            break
    assert status == 0
    assert ends == sorted(ends)
    assert ends.count("absent") > 15


def test_a_snapshot_includes_rows_still_in_the_write_ahead_log(tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path / "home" / "copy.sqlite")
    store = SqlDocumentStore(engine)
    fill(store, "c", 5)
    before = content(engine)
    assert (tmp_path / "home" / "copy.sqlite-wal").stat().st_size
    url = "postgresql://user:word@127.0.0.1:1/none"
    with engine.begin() as connection:
        connection.execute(documents.update().values(text="not committed"))
        made = semblance(
            "snapshot", str(tmp_path / "new"), "--home", str(tmp_path / "home"), SEMBLANCE_DATABASE_URL=url
        )
    assert made.exit_code == 0, made.output
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["copy.sqlite"]
    copied = sqlite_engine(tmp_path / "new" / "copy.sqlite")
    assert content(copied) == before
    copied.dispose()
    store.close()
