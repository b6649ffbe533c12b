"""Files that outlive a power failure, and are there whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Bring a file to disk; or of a folder, the names in it.

    Raises:
        OSError: the disk will not do.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(aside: Path, name: Path) -> None:
    """Give a file or a folder that is written its name, after all of it is on disk.

    Args:
        aside: what is written, on the disk where `name` will be.
        name: its name to be; a file may lie there, a folder only if it is empty.

    Raises:
        OSError: the disk will not do, or `name` is taken.
    """
    for path in [*aside.rglob("*"), aside] if aside.is_dir() else [aside]:
        sync(path)
    aside.replace(name)
    sync(name.parent)


def write_json(file: Path, value: Any) -> None:
    """Write JSON in the place of what the file held.

    Raises:
        OSError: the disk will not do; the file is what it was.
    """
    aside = partial(file)
    aside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")
    publish(aside, file)


def partial(file: Path) -> Path:
    """Where a file is written before it gets its name."""
    return file.with_name(f"{file.name}.partial")
