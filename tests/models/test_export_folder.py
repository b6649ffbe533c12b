"""Exports are made once, and are used only as they were made."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from models.errors import NotExportable
from models.export_folder import MANIFEST, exported

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


def test_it_is_made_once(tmp_path: Path) -> None:
    assert [content(tmp_path) for _ in range(3)] == [b"weights"] * 3
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


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
    assert list(tmp_path.iterdir()) == []


def test_of_many_at_once_one_is_kept_and_all_can_use_it(tmp_path: Path) -> None:
    barrier, found = threading.Barrier(4), []

    def slow(folder: Path) -> None:
        barrier.wait()
        make(folder)

    def use() -> None:
        with exported(tmp_path, "f", slow) as folder:
            found.append((folder / "network.bin").read_bytes())

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"weights"] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_no_room_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotExportable, match="file"):
        content(tmp_path / "file" / "exports")
