"""Digests of files and of JSON values."""

from __future__ import annotations

import hashlib
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from semblance.models.errors import BadCheckpoint

_BLOCK = 8 << 20  # bytes
_SETTLED_NS = 2 * 10**9  # file systems may give two writes within less the same time


def digest(**parts: Any) -> str:
    """SHA-256 of named JSON values, in hexadecimal."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def file_sha256(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal; cached until the file changes.

    Raises:
        BadCheckpoint: the file cannot be read.
    """
    try:
        stat = file.stat()
        if time.time_ns() - stat.st_mtime_ns < _SETTLED_NS:
            return _sha256(file)
        return _cached_sha256(file, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    except OSError as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error


@lru_cache
def _cached_sha256(file: Path, _version: tuple[int, ...]) -> str:
    return _sha256(file)


def _sha256(file: Path) -> str:
    """By blocks so large that a thread rarely waits for Python, which it must have between them."""
    sha256 = hashlib.sha256()
    with file.open("rb", buffering=0) as stream:
        block = memoryview(bytearray(min(_BLOCK, file.stat().st_size)))
        while size := stream.readinto(block):
            sha256.update(block[:size])
    return sha256.hexdigest()
