"""`semblance backup` and `semblance restore`, run as an operator runs them: and as they go wrong."""

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
from semblance.service.documents.lock import hold
from semblance.service.documents.postgresql import postgresql_engine
from semblance.service.documents.schema import documents
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import BadBackup
from semblance.service.ports.documents import Document, Write
from tests.contracts.test_backups import content
from tests.contracts.test_copies import SETTINGS, made_of
from tests.support.dying import DEAD, Death, in_a_process

TEXT = "A text of which many make a file that is larger than a small disk."


def fill(store: SqlDocumentStore, name: str, count: int) -> None:
    collection, _ = store.create(name, SETTINGS)
    made = made_of("space-0", TEXT)
    store.upsert(collection, [Write(Document(f"{i:04}", TEXT, {"i": i}), made) for i in range(count)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "home" / "documents.sqlite"))
    fill(store, "c", 1000)
    store.close()
    return tmp_path / "home"


def held(home: Path) -> list[object]:
    engine = sqlite_engine(home / "documents.sqlite")
    found = content(engine)
    engine.dispose()
    return found


def semblance(*arguments: str, **environment: str) -> Result:
    """`semblance ARGUMENTS` within this process."""
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", **environment})


def cramped(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`semblance ARGUMENTS` where no file may grow beyond 128 KiB: a full disk."""
    command = [
        "sh",
        "-c",
        'ulimit -f 256; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "semblance.service.cli.main",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_deployment_moves_from_one_kind_of_store_to_the_other_and_back(
    home: Path, postgres: str, tmp_path: Path
) -> None:
    before = held(home)
    for step in (
        partial(semblance, "backup", str(tmp_path / "first"), "--home", str(home)),
        partial(semblance, "restore", str(tmp_path / "first"), SEMBLANCE_DATABASE_URL=postgres),
        partial(semblance, "backup", str(tmp_path / "second"), SEMBLANCE_DATABASE_URL=postgres),
        partial(semblance, "restore", str(tmp_path / "second"), "--home", str(tmp_path / "new")),
    ):
        done = step()
        assert done.exit_code == 0, done.output
    engine = postgresql_engine(postgres, connections=1, timeout_s=10)
    assert content(engine) == before
    engine.dispose()
    assert held(tmp_path / "new") == before
    for path in (tmp_path / "second", *(tmp_path / "second").iterdir()):
        assert path.stat().st_mode & 0o077 == 0, "it holds texts"


def test_restore_shows_what_it_would_replace_and_asks(home: Path, tmp_path: Path) -> None:
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    fill(store, "later", 7)
    store.close()
    before = held(home)
    unanswered = semblance("restore", str(tmp_path / "backup"), "--home", str(home))
    assert unanswered.exit_code == 1
    assert "later" in unanswered.output
    assert "1,000" in unanswered.output
    assert held(home) == before
    assert semblance("restore", str(tmp_path / "backup"), "--home", str(home), "--yes").exit_code == 0
    assert held(home) != before


def test_what_cannot_be_is_said_and_nothing_changes(home: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    url = "postgresql://someone:hidden-word@127.0.0.1:1/none"
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    before = held(home)
    backup, there, nowhere = str(tmp_path / "backup"), str(home), str(tmp_path / "nowhere")
    with hold(home):
        for arguments, environment, said in (
            (["backup", str(tmp_path / "full"), "--home", there], {}, "exists already"),
            (["backup", nowhere, "--home", nowhere], {}, "there are no documents in"),
            (["backup", nowhere], {"SEMBLANCE_DATABASE_URL": url}, "does not answer"),
            (["restore", backup, "--yes"], {"SEMBLANCE_DATABASE_URL": url}, "does not answer"),
            (["restore", nowhere, "--home", there, "--yes"], {}, "holds no backup"),
            (["restore", backup, "--home", there, "--yes"], {}, "another process serves the documents"),
            (["snapshot", nowhere, "--home", nowhere], {}, "name the folder of the service"),
        ):
            ran = semblance(*arguments, **environment)
            assert ran.exit_code == 1
            assert said in ran.output
            assert "hidden-word" not in ran.output
            assert not Path(nowhere).exists()
    assert held(home) == before


def test_a_full_disk_leaves_no_backup_and_no_half_restored_store(home: Path, tmp_path: Path) -> None:
    failed = cramped("backup", str(tmp_path / "backup"), "--home", str(home))
    assert failed.returncode == 1
    assert "no backup was made" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not list(tmp_path.glob("*backup*"))
    assert semblance("backup", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    store = SqlDocumentStore(sqlite_engine(tmp_path / "other" / "documents.sqlite"))
    fill(store, "small", 3)
    store.close()
    before = held(tmp_path / "other")
    failed = cramped("restore", str(tmp_path / "backup"), "--home", str(tmp_path / "other"), "--yes")
    assert failed.returncode == 1
    assert "nothing was restored" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert held(tmp_path / "other") == before


def test_a_backup_that_is_killed_at_any_step_is_none_or_a_whole_one(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "home" / "documents.sqlite"))
    fill(store, "c", 3)
    store.close()
    before, backups = held(tmp_path / "home"), tmp_path / "backups"

    def die(at: int) -> None:
        death = Death(backups, at)
        death.take_over()
        for name in ("before_cursor_execute", "commit"):
            event.listen(Engine, name, lambda *_: death.step())
        app(["backup", str(backups / "monday"), "--home", str(tmp_path / "home")], standalone_mode=False)

    ends = []
    for at in range(1, 1000, 3):
        shutil.rmtree(backups, ignore_errors=True)
        backups.mkdir()
        status = in_a_process(partial(die, at))
        try:
            backup_folder.check(backups / "monday")
            assert held(backups / "monday") == before
            ends.append("whole")
        except BadBackup:
            ends.append("none")
        assert held(tmp_path / "home") == before
        if status != DEAD:
            break
    assert status == 0
    assert ends == sorted(ends)
    assert ends.count("none") > 15


def test_a_snapshot_of_a_replica_is_its_copy_with_what_is_only_in_the_log_yet(tmp_path: Path) -> None:
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
