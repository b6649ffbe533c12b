"""Lock a store to one process: a second one would not see the first one's writes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from semblance.service.errors import StoreFailed, StoreInUse

HOLDER = "lock.holder"
_ADDRESS = re.compile(r", already running at (\S+) ")


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Lock the store in `home` for the time of the block, or until the process dies.

    A new folder is accessible to its owner only; an existing one keeps its permissions. The file `lock.holder` says
    which process has the lock, and the address of a service, for the message to others.

    Raises:
        StoreInUse: another process has the lock.
        StoreFailed: this process cannot write to the folder.
    """
    folder = home.expanduser()
    lock, holder = FileLock(folder / "lock"), folder / HOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents are private
        lock.acquire(timeout=0)
        with suppress(OSError):  # a full disk must not prevent a start: documents can then be deleted
            holder.write_text(_this_process(), "utf-8")
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


def name_address(home: Path, address: str) -> None:
    """Tell other processes where this one, which has the lock on a home, serves its documents."""
    with suppress(OSError):  # as for the rest of the file
        (home.expanduser() / HOLDER).write_text(f", already running at {address}{_this_process()}", "utf-8")


def named_address(home: Path) -> str | None:
    """The address of the service that has the lock on a home, if one has and told it."""
    folder = home.expanduser()
    found = _ADDRESS.match(_said_by(folder / HOLDER))
    if found is None:
        return None
    try:
        with FileLock(folder / "lock", timeout=0):
            return None  # of a process that was killed
    except Timeout:
        return found[1]
    except OSError:
        return None


def _this_process() -> str:
    """This process and its verb, such as `semblance serve`; what follows may be private."""
    return f" (process {os.getpid()}, {' '.join([Path(sys.argv[0]).name, *sys.argv[1:2]])})"


def _said_by(holder: Path) -> str:
    """Which process has the lock, and where it serves; empty if an earlier release has it."""
    try:
        return holder.read_text("utf-8")
    except OSError:
        return ""
