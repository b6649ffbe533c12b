"""Environments that tests make once, in build/environments, and keep while what they are made of stays the same."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from tests.support.project import PROJECT


def digest_of(words: Iterable[str], files: Iterable[Path]) -> str:
    """A digest of words, and of the names and contents of files and of all files in folders."""
    digest = hashlib.sha256(repr(list(words)).encode())
    for name in files:
        for file in sorted(name.rglob("*")) if name.is_dir() else [name]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def make_once(folder: Path, step: str, digest: str, make: Callable[[], None]) -> None:
    """Take a step that fills a folder, unless a stamp in it says that it was taken with this digest."""
    stamp = folder / f"{step}.stamp"
    if not stamp.is_file() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        make()
        stamp.write_text(digest)


@contextmanager
def locked_environment(name: str) -> Iterator[Path]:
    """The folder of an environment, for one process at a time.

    It is a new one where other users may not enter the folder of the project.
    """
    if any(not folder.stat().st_mode & 0o001 for folder in (PROJECT, *PROJECT.parents)):
        yield Path(tempfile.mkdtemp(prefix=f"{name}-"))
        return
    folder = PROJECT / "build" / "environments" / name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        yield folder
