"""Files on disk: exact digests although unchanged files are read once, names that come last, order of tensors."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from semblance.models.errors import BadCheckpoint
from semblance.models.files import digests, tensors
from semblance.models.files.atomic import publish, write_json
from semblance.models.files.digests import _cached_sha256, file_sha256
from semblance.models.files.tensors import read_tensors
from tests.support.waiting import until

LONG_AGO_NS = 10**18  # in 2001


def write_long_ago(file: Path, content: bytes) -> int:
    """Write a file with an old time of modification, and return its time of change, which is now."""
    file.write_bytes(content)
    os.utime(file, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return file.stat().st_ctime_ns


def test_a_recently_rewritten_file_gets_a_new_digest(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    for number in range(200):
        content = number.to_bytes(4, "big")
        file.write_bytes(content)
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()


def test_a_rewrite_of_equal_size_and_mtime_changes_the_digest(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    for content in (b"one", b"two", b"six"):
        before = file.stat().st_ctime_ns if file.exists() else 0
        until(lambda: write_long_ago(file, content) > before, "another time of change")  # noqa: B023 - called here
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()


def test_an_unchanged_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    write_long_ago(file, b"one")
    before = _cached_sha256.cache_info().misses
    assert file_sha256(file) == file_sha256(file) == hashlib.sha256(b"one").hexdigest()
    assert _cached_sha256.cache_info().misses == before + 1


@pytest.mark.parametrize("size", [0, 1, digests._BLOCK, 2 * digests._BLOCK + 1])
def test_files_of_any_size_have_their_digest(tmp_path: Path, size: int) -> None:
    content = random.Random(size).randbytes(size)
    (tmp_path / "weights").write_bytes(content)
    assert file_sha256(tmp_path / "weights") == hashlib.sha256(content).hexdigest()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match=f"cannot read {tmp_path / 'missing'}"):
        file_sha256(tmp_path / "missing")


def test_tensors_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """So an error about a file names the same tensor each time."""
    names = [f"layer.{number:02}" for number in range(40)]
    save_file({name: np.zeros(2, np.float32) for name in reversed(names)}, tmp_path / "weights.safetensors")
    assert list(read_tensors(tmp_path / "weights.safetensors")) == names


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are flushed and renamed, in order."""
    taken: list[str] = []
    replace = os.replace

    def renamed(source: Path, target: Path) -> None:
        taken.append(f"rename to {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(
        os, "fsync", lambda descriptor: taken.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
    )
    monkeypatch.setattr(os, "replace", renamed)
    return taken


def test_a_file_is_flushed_before_and_its_name_after(tmp_path: Path, steps: list[str]) -> None:
    write_json(tmp_path / "a.json", [1])
    assert steps == ["a.json.partial", "rename to a.json", tmp_path.name]


def test_all_of_a_folder_is_flushed_before_its_name(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "partial" / "inner").mkdir(parents=True)
    (tmp_path / "partial" / "inner" / "file").touch()
    publish(tmp_path / "partial", tmp_path / "done")
    assert sorted(steps[:3]) == ["file", "inner", "partial"]
    assert steps[3:] == ["rename to done", tmp_path.name]


def test_weights_that_shrink_while_they_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "weights.safetensors"
    save_file({"a": np.ones((8, 8), np.float32), "b": np.ones((8, 8), np.float32)}, file)
    entries = tensors._entries(file)
    monkeypatch.setattr(tensors, "_entries", lambda _: entries)
    content = file.read_bytes()
    for kept in (len(content) - 16, 16):
        file.write_bytes(content[:kept])
        with pytest.raises(BadCheckpoint, match=f"cannot load {file}"):
            read_tensors(file)
