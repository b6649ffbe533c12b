"""The digests of model files: exact, though a file that several models share is read once."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import _known_sha256, file_sha256

HOUR_NS = 3600 * 10**9


def test_a_file_that_is_rewritten_at_once_has_its_new_digest(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    for number in range(200):
        content = number.to_bytes(4, "big")
        file.write_bytes(content)
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()


def test_a_file_that_is_rewritten_has_its_new_digest_though_its_size_and_time_are_put_back(tmp_path: Path) -> None:
    file, old = tmp_path / "weights", time.time_ns() - HOUR_NS
    for content in (b"one", b"two", b"six"):
        file.write_bytes(content)
        os.utime(file, ns=(old, old))
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()
        time.sleep(0.02)  # longer than a tick of the clock by which the file system says when a file was changed


def test_a_file_that_has_not_changed_is_read_once(tmp_path: Path) -> None:
    file, old = tmp_path / "weights", time.time_ns() - HOUR_NS
    file.write_bytes(b"one")
    os.utime(file, ns=(old, old))
    before = _known_sha256.cache_info().misses
    assert file_sha256(file) == file_sha256(file) == hashlib.sha256(b"one").hexdigest()
    assert _known_sha256.cache_info().misses == before + 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match=f"cannot read {tmp_path / 'none'}"):
        file_sha256(tmp_path / "none")
