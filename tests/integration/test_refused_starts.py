"""Starts that are refused, with one line that names the file and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from semblance.service.documents.databases.sqlite import merge_log, sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from tests.integration.conftest import served
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE
from tests.support.servers.word_models import write_model
from tests.support.small_model import make_small

# permissions bind root, too
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a service that has ended, with a document and the snapshot of its index."""
    home = tmp_path_factory.mktemp("filled")
    model = write_model(home / "words.npz", seed=0)
    with served(home, models=f"words={model}") as (_, api):
        api.collection("c")
        api.store("c", {"id": "d", "text": "brala"})
    merge_log(home / "documents.sqlite")
    assert (home / "indexes" / "c" / "manifest.json").exists()
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(filled, tmp_path / "a home"))


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)


def refusal(home: Path, model: Path) -> str:
    """The reason of a start that is refused."""
    settings = {"HOME": home, "MODELS": f"m={model}", "PORT": "0", "RUNTIME": "torch"}
    environment = os.environ | {f"SEMBLANCE_{name}": str(value) for name, value in settings.items()}
    command = [*UNPRIVILEGED, sys.executable, "-m", SEMBLANCE, "serve"]
    ended = run(command, environment)
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    *others, last = ended.stderr.splitlines()
    assert all(line.startswith("{") for line in others), "the log"
    reason = last.removeprefix("cannot serve: ")
    assert reason != last
    return reason


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    words, read_only = write_model(tmp_path / "words.npz", seed=0), tmp_path / "home"
    read_only.mkdir(mode=0o555)
    for home, cause in ((words / "home", "Not a directory"), (read_only, "Permission denied")):
        reason = refusal(home, words)
        assert reason.startswith(f"{home} cannot be written ({cause})")
        assert "--home" in reason


def test_a_home_that_is_unreadable_is_named_by_commands(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o000)
    options = [*UNPRIVILEGED, sys.executable, "-m", SEMBLANCE, "index", "verify"]
    ended = run(options, os.environ | {"SEMBLANCE_HOME": str(home)})
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        f"{home} cannot be read (Permission denied): let this user read it, or set another folder with --home"
    ]


def test_a_damaged_database_is_named_with_the_remedy(home: Path) -> None:
    database = home / "documents.sqlite"
    database.write_bytes(b"no SQLite" * 1000)
    reason = refusal(home, home / "words.npz")
    assert reason.startswith(f"{database}: the document store is damaged: file is not a database")
    assert f"semblance restore FOLDER --home '{home}'" in reason
    assert (home / "indexes" / "c" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("kept", "added", "named"),
    [
        (0.5, b"", "model.safetensors (Error"),
        (0.5, b"\xff", "model.safetensors has numbers that are not finite"),
    ],
)
def test_a_model_with_damaged_weights_is_named(tmp_path: Path, kept: float, added: bytes, named: str) -> None:
    weights = make_small(tmp_path / "model") / "model.safetensors"
    content, size = weights.read_bytes(), weights.stat().st_size
    weights.write_bytes((content[: int(kept * size)] + added * size)[:size])
    reason = refusal(tmp_path / "home", weights.parent)
    assert f"{weights.parent}/{named}" in reason
    assert "copy it again" in reason


@pytest.mark.parametrize("left", ["nothing", "an empty file", "a database without tables"])
def test_indexes_without_their_documents_are_refused(home: Path, left: str) -> None:
    database, indexes = home / "documents.sqlite", home / "indexes"
    database.unlink()
    if left != "nothing":
        database.touch()
    if left == "a database without tables":
        merge_log(database)
    for _ in ("once", "again")[: 2 if left == "nothing" else 1]:  # nothing is created that would pass for documents
        reason = refusal(home, home / "words.npz")
        assert reason.startswith(f"{database} is {'missing' if left == 'nothing' else 'empty'}, but {indexes} has")
        assert f"semblance restore FOLDER --home '{home}'" in reason
        assert f"rm -r '{indexes}'" in reason
        assert (indexes / "c" / "manifest.json").exists()
    shutil.rmtree(indexes)
    if left == "nothing":
        with served(home, models=f"words={home / 'words.npz'}") as (_, api):
            assert api.get("/collections")["collections"] == []


def test_a_database_without_collections_starts_beside_indexes(home: Path) -> None:
    """As after a crash between dropping the last collection and removing its snapshot."""
    store = SqlDocumentStore(sqlite_engine(home / "documents.sqlite"))
    store.drop("c")
    store.close()
    with served(home, models=f"words={home / 'words.npz'}") as (_, api):
        assert api.get("/ready")["status"] == "ready"
