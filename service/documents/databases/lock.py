"""Lock a store to one process: a second one would not see the first one's writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from semblance.service.errors import StoreFailed, StoreInUse


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Lock the store in `home` for the time of the block, or until the process dies.

    A new folder is accessible to its owner only; an existing one keeps its permissions. The file `lock.holder` says
    which process has the lock, for the message to others.

    Raises:
        StoreInUse: another process has the lock.
        StoreFailed: this process cannot write to the folder.
    """
    folder = home.expanduser()
    lock, holder = FileLock(folder / "lock"), folder / "lock.holder"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents are private
        lock.acquire(timeout=0)
        with suppress(OSError):  # a full disk must not prevent a start: documents can then be deleted
            holder.write_text(f" (process {os.getpid()}, {_command()})", "utf-8")
    except Timeout as error:
        raise StoreInUse(
            f"another process serves the documents in {folder}{_said_by(holder)}; choose another folder with --home"
        ) from error
    except OSError as error:
        raise StoreFailed(
            f"{folder} cannot be written ({error.strerror}): let this user write there, or choose another folder with "
            "--home"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _command() -> str:
    """The program and its verb, such as `semblance serve`; what follows may be private."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])


def _said_by(holder: Path) -> str:
    """Which process has the lock, in brackets; empty if an earlier release has it."""
    try:
        return holder.read_text("utf-8")
    except OSError:
        return ""
