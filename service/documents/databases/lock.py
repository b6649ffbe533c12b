"""Lock a store to one process: a second one would not see the first one's writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from semblance.service.errors import StoreFailed, StoreInUse


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Lock the store in `home` for the time of the block, or until the process dies.

    A new folder is accessible to its owner only; an existing one keeps its permissions.

    Raises:
        StoreInUse: another process has the lock.
        StoreFailed: this process cannot write to the folder.
    """
    folder = home.expanduser()
    lock = FileLock(folder / "lock")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents are private
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreInUse(
            f"another process serves the documents in {folder}; choose another folder with --home"
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
