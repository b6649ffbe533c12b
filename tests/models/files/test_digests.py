"""Digests of files are exact although unchanged files are read once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import _cached_sha256, file_sha256
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


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match=f"cannot read {tmp_path / 'missing'}"):
        file_sha256(tmp_path / "missing")
