"""Digests of files and of JSON values."""

from __future__ import annotations

import hashlib
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from semblance.models.errors import BadCheckpoint

_SETTLED_NS = 2 * 10**9  # the clocks of file systems may not tell apart what is written within less


def digest(**parts: Any) -> str:
    """SHA-256 of JSON values by name, in hexadecimal."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def file_sha256(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal; a file that several models share is read once, unless it is written meanwhile.

    Raises:
        BadCheckpoint: it cannot be read.
    """
    try:
        found = file.stat()
        if time.time_ns() - found.st_mtime_ns < _SETTLED_NS:
            return _sha256(file)
        return _known_sha256(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
    except OSError as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error


@lru_cache
def _known_sha256(file: Path, _version: tuple[int, ...]) -> str:
    return _sha256(file)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
