"""Exports are made once, and are used only as they were made."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from semblance.models.errors import NotExportable
from semblance.models.networks.export_cache import MANIFEST, exported

made: list[Path] = []


def make(folder: Path) -> None:
    made.append(folder)
    (folder / "network.bin").write_bytes(b"weights")


@pytest.fixture(autouse=True)
def nothing_made() -> None:
    made.clear()


def content(exports: Path | None, fingerprint: str = "f") -> bytes:
    with exported(exports, fingerprint, make) as folder:
        return (folder / "network.bin").read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_made_once(tmp_path: Path) -> None:
    assert [content(tmp_path) for _ in range(3)] == [b"weights"] * 3
    assert len(made) == 1
    assert names(tmp_path) == ["f", "f.lock"]


def test_another_fingerprint_is_another_export(tmp_path: Path) -> None:
    content(tmp_path, "f")
    content(tmp_path, "g")
    assert len(made) == 2


def test_without_a_folder_nothing_is_kept() -> None:
    content(None)
    content(None)
    assert len(made) == 2
    assert not any(folder.exists() for folder in made)


@pytest.mark.parametrize("damage", ["changed", "gone", "no manifest", "broken manifest"])
def test_what_has_changed_is_made_anew(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    content(tmp_path)
    match damage:
        case "changed":
            (tmp_path / "f" / "network.bin").write_bytes(b"other")
        case "gone":
            (tmp_path / "f" / "network.bin").unlink()
        case "no manifest":
            (tmp_path / "f" / MANIFEST).unlink()
        case "broken manifest":
            (tmp_path / "f" / MANIFEST).write_text("{")
    with caplog.at_level(logging.WARNING):
        assert content(tmp_path) == b"weights"
    assert len(made) == 2
    assert "made anew" in caplog.text


def test_one_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_bytes(b"half")
        raise ValueError("the graph is odd")

    with pytest.raises(ValueError, match="odd"), exported(tmp_path, "f", fail):
        pass
    assert names(tmp_path) == ["f.lock"]


def test_of_many_at_once_one_makes_it_and_the_others_wait_and_use_the_same(tmp_path: Path) -> None:
    found: list[tuple[int, bytes]] = []

    def slow(folder: Path) -> None:
        time.sleep(0.2)  # in which the others come
        make(folder)

    def use() -> None:
        with exported(tmp_path, "f", slow) as folder:
            found.append((folder.stat().st_ino, (folder / "network.bin").read_bytes()))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert found == [(tmp_path.joinpath("f").stat().st_ino, b"weights")] * 4
    assert names(tmp_path) == ["f", "f.lock"]


def test_a_process_waits_for_another_that_makes_it(tmp_path: Path) -> None:
    """The other one is killed as it waits for input: the system lets go of its lock, and what it left is removed."""
    code = """
import sys, pathlib
from semblance.models.networks.export_cache import exported
def make(folder):
    (folder / "half").write_bytes(b"half")
    print("making", flush=True)
    input()
with exported(pathlib.Path(sys.argv[1]), "f", make):
    pass
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "making\n"
        waiting = threading.Thread(target=content, args=[tmp_path])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert made == []
        other.kill()
        waiting.join(30)
    assert len(made) == 1
    assert content(tmp_path) == b"weights"
    assert names(tmp_path) == ["f", "f.lock"]
    assert names(tmp_path / "f") == [MANIFEST, "network.bin"]


def test_one_that_is_whole_is_used_from_a_disk_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content(tmp_path)
    monkeypatch.setattr("semblance.models.networks.export_cache.FileLock", refused)
    assert content(tmp_path) == b"weights"
    with pytest.raises(NotExportable, match="read-only"):
        content(tmp_path, "g")


def refused(lock: Path) -> None:
    raise OSError(errno.EROFS, "read-only", str(lock))


def test_no_room_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotExportable, match="file"):
        content(tmp_path / "file" / "exports")
