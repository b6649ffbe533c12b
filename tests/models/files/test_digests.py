"""Digests of files are exact although unchanged files are read once."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import _cached_sha256, file_sha256

HOUR_NS = 3600 * 10**9


def test_a_recently_rewritten_file_gets_a_new_digest(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    for number in range(200):
        content = number.to_bytes(4, "big")
        file.write_bytes(content)
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()


def test_a_rewrite_of_equal_size_and_mtime_changes_the_digest(tmp_path: Path) -> None:
    file, old = tmp_path / "weights", time.time_ns() - HOUR_NS
    for content in (b"one", b"two", b"six"):
        file.write_bytes(content)
        os.utime(file, ns=(old, old))
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()
        time.sleep(0.02)  # longer than the resolution of the file system's change time


def test_an_unchanged_file_is_read_once(tmp_path: Path) -> None:
    file, old = tmp_path / "weights", time.time_ns() - HOUR_NS
    file.write_bytes(b"one")
    os.utime(file, ns=(old, old))
    before = _cached_sha256.cache_info().misses
    assert file_sha256(file) == file_sha256(file) == hashlib.sha256(b"one").hexdigest()
    assert _cached_sha256.cache_info().misses == before + 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match=f"cannot read {tmp_path / 'missing'}"):
        file_sha256(tmp_path / "missing")
