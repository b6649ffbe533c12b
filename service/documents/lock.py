"""One process a store: a second one would not hear of the first one's writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from semblance.service.errors import StoreInUse


@contextmanager
def hold(home: Path) -> Iterator[None]:
    """Keep the store in `home` to this process for the time of the block; the system lets go of it if the process dies.

    A new folder is its owner's alone; one that is there keeps the rights that it has.

    Raises:
        StoreInUse: another process holds it.
    """
    folder = home.expanduser()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the documents are nobody else's
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreInUse(
            f"another process serves the documents in {folder}: choose another folder with --home"
        ) from error
    try:
        yield
    finally:
        lock.release()
