"""Environments that tests make once, in build/environments, and keep while what they are made of stays the same."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from tests.conftest import missing
from tests.support.project import PROJECT

NO_INDEX = "No matching distribution found"  # what pip says where it reaches none


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


def install(command: Sequence[str | Path], **variables: str) -> None:
    """Run a command that installs packages; where pip reaches no index, the test is skipped, or fails in CI."""
    environment = os.environ | variables
    folder = PROJECT / "build"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "installing.lock"):  # building a package writes beside its sources
        ran = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    if NO_INDEX in ran.stderr:
        missing("an index of packages that pip reaches")
    assert ran.returncode == 0, ran.stdout + ran.stderr
