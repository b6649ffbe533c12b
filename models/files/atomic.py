"""Atomic, durable writes: after a power failure a file is complete or absent."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def fsync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk.

    Windows opens no folder, and flushes a file only if it is open for writing.

    Raises:
        OSError: the write failed.
    """
    windows = sys.platform == "win32"
    if windows and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(temporary: Path, target: Path) -> None:
    """Rename a file or folder to its final name after flushing all of it to disk.

    Args:
        temporary: the complete file or folder, on the file system of `target`.
        target: the final name; may be an existing file, or an empty folder.

    Raises:
        OSError: a write failed, or `target` is a folder that is not empty.
    """
    for path in [*temporary.rglob("*"), temporary] if temporary.is_dir() else [temporary]:
        fsync(path)
    temporary.replace(target)
    fsync(target.parent)


def write_json(file: Path, value: Any) -> None:
    """Replace the content of a file by JSON, atomically.

    Raises:
        OSError: the write failed; the file is unchanged.
    """
    temporary = partial_path(file)
    temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    publish(temporary, file)


def partial_path(file: Path) -> Path:
    """Temporary path of a file while it is written."""
    return file.with_name(f"{file.name}.partial")
