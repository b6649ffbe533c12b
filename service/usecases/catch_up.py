"""How an index follows the store: at start, after a crash, after every write. There is no other way."""

from __future__ import annotations

from threading import Event

from service.errors import VersionMismatch
from service.ports import DocumentStore, VectorIndex, Version

PAGE = 2048  # changes read at a time: 3 MB of vectors of 384 numbers


class Stopped(Exception):
    """There was no time to follow to the end."""


def catch_up(store: DocumentStore, name: str, index: VectorIndex, stop: Event | None = None) -> None:
    """Apply to `index` everything that collection `name` went through since the index last looked.

    Blocks: call it off the event loop, and never twice at once for the same index.

    Raises:
        UnknownCollection: the collection is gone.
        VersionMismatch: it was made anew since; follow it with a new index.
        Stopped: `stop` was set in between.
    """
    since, cursor = index.version, None
    while True:
        if stop is not None and stop.is_set():
            raise Stopped
        page = store.changes_since(name, since.number, cursor, PAGE)
        if page.epoch != since.epoch:
            raise VersionMismatch(f"collection {name!r} was made anew")
        index.apply(page.changes)
        index.advance(Version(page.epoch, page.complete))
        cursor = page.cursor
        if cursor is None:
            return
