"""Exports are created once, and used only while intact."""

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
from semblance.models.networks.export_cache import MANIFEST, cached_export

calls: list[Path] = []


def export(folder: Path) -> None:
    calls.append(folder)
    (folder / "network.bin").write_bytes(b"weights")


@pytest.fixture(autouse=True)
def no_calls() -> None:
    calls.clear()


def content(exports: Path | None, fingerprint: str = "f") -> bytes:
    with cached_export(exports, fingerprint, export) as folder:
        return (folder / "network.bin").read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_export_is_created_once(tmp_path: Path) -> None:
    assert [content(tmp_path) for _ in range(3)] == [b"weights"] * 3
    assert len(calls) == 1
    assert names(tmp_path) == ["f", "f.lock"]


def test_the_log_says_when_an_export_takes_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        content(tmp_path)
        begun, done = [record.getMessage() for record in caplog.records]
        content(tmp_path)
    assert begun == f"exporting the network for its runtime, once; later starts reuse it from {tmp_path}"
    assert done == "exported the network in 0.0 s"
    assert len(caplog.records) == 2, "nothing is exported, and nothing logged, the second time"


def test_another_fingerprint_is_another_export(tmp_path: Path) -> None:
    content(tmp_path, "f")
    content(tmp_path, "g")
    assert len(calls) == 2


def test_without_a_folder_nothing_is_cached() -> None:
    content(None)
    content(None)
    assert len(calls) == 2
    assert not any(folder.exists() for folder in calls)


@pytest.mark.parametrize("damage", ["changed", "gone", "no manifest", "broken manifest"])
def test_a_damaged_export_is_replaced(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
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
    assert len(calls) == 2
    assert "is damaged and will be replaced" in caplog.text


def test_a_failed_export_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_bytes(b"half")
        raise ValueError("the graph is odd")

    with pytest.raises(ValueError, match="odd"), cached_export(tmp_path, "f", fail):
        pass
    assert names(tmp_path) == ["f.lock"]


def test_concurrent_threads_create_one_export(tmp_path: Path) -> None:
    results: list[tuple[int, bytes]] = []

    def slow(folder: Path) -> None:
        time.sleep(0.2)  # until the others wait
        export(folder)

    def use() -> None:
        with cached_export(tmp_path, "f", slow) as folder:
            results.append((folder.stat().st_ino, (folder / "network.bin").read_bytes()))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert results == [(tmp_path.joinpath("f").stat().st_ino, b"weights")] * 4
    assert names(tmp_path) == ["f", "f.lock"]


def test_a_process_waits_for_the_export_of_another(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once the other is killed, its lock is released and its leftovers are removed."""
    code = """
import sys, pathlib
from semblance.models.networks.export_cache import cached_export
def export(folder):
    (folder / "half").write_bytes(b"half")
    print("making", flush=True)
    input()
with cached_export(pathlib.Path(sys.argv[1]), "f", export):
    pass
"""
    caplog.set_level(logging.INFO)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "making\n"
        waiting = threading.Thread(target=content, args=[tmp_path])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert caplog.messages == ["another process is exporting the network; waiting for it"]
        assert calls == []
        other.kill()
        waiting.join(30)
    assert len(calls) == 1
    assert content(tmp_path) == b"weights"
    assert names(tmp_path) == ["f", "f.lock"]
    assert names(tmp_path / "f") == [MANIFEST, "network.bin"]


def test_an_intact_export_is_read_from_a_read_only_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content(tmp_path)
    monkeypatch.setattr("semblance.models.networks.export_cache.FileLock", read_only)
    assert content(tmp_path) == b"weights"
    with pytest.raises(NotExportable, match="read-only"):
        content(tmp_path, "g")


def read_only(lock: Path) -> None:
    raise OSError(errno.EROFS, "read-only", str(lock))


def test_an_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotExportable, match="file"):
        content(tmp_path / "file" / "exports")
