"""Exports are created once, and used only while intact."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semblance.models.errors import NotExportable
from semblance.models.networks.export_cache import MANIFEST, cached_export
from tests.support.waiting import until

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


def test_an_export_is_created_once_for_each_fingerprint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert [content(tmp_path) for _ in range(3)] == [b"weights"] * 3
    assert len(calls) == 1
    assert names(tmp_path) == ["f", "f.lock"]
    begun, done = caplog.messages  # nothing is logged when nothing is exported
    assert begun.endswith(f"once; later starts reuse it from {tmp_path}")
    assert done.startswith("exported the network in ")
    content(tmp_path, "g")
    assert len(calls) == 2


def test_without_a_folder_nothing_is_cached() -> None:
    content(None)
    content(None)
    assert len(calls) == 2
    assert not any(folder.exists() for folder in calls)


@pytest.mark.parametrize(
    ("file", "damage"), [("network.bin", b"other"), ("network.bin", None), (MANIFEST, None), (MANIFEST, b"{")]
)
def test_a_damaged_export_is_replaced(
    tmp_path: Path, file: str, damage: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    content(tmp_path)
    (tmp_path / "f" / file).unlink()
    if damage is not None:
        (tmp_path / "f" / file).write_bytes(damage)
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


def test_one_exports_while_threads_and_processes_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once an exporting process is killed, its lock is released and its leftovers are removed."""
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
    waits, killed = "another process is exporting the network; waiting for it", threading.Event()

    def export_while_others_wait(folder: Path) -> None:
        assert killed.is_set()
        results.extend(pool.submit(use) for _ in range(3))
        until(lambda: caplog.messages.count(waits) == 4, "three threads more that wait")
        export(folder)

    def use() -> tuple[int, bytes]:
        with cached_export(tmp_path, "f", export_while_others_wait) as folder:
            return folder.stat().st_ino, (folder / "network.bin").read_bytes()

    caplog.set_level(logging.INFO)
    with (
        ThreadPoolExecutor(4) as pool,
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "making\n"
        results = [pool.submit(use)]
        until(lambda: caplog.messages == [waits], "a thread that waits")
        killed.set()
        other.kill()
        assert results[0].result() == (tmp_path.joinpath("f").stat().st_ino, b"weights")
    assert len({each.result() for each in results}) == len(calls) == 1
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
