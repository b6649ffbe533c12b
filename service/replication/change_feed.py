"""Page through the changes of a collection: how all indexes and copies follow a store."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Protocol

from semblance.service.ports.documents import AnyChange, ChangePage, Cursor, VectorChange, Version
from semblance.service.ports.indexes import VectorIndex

PAGE = 2048  # changes read at a time, 3 MB of vectors of 384 numbers; of long documents, the store returns fewer


class Stopped(Exception):
    """Following was stopped before the last page."""


class PageReader(Protocol[AnyChange]):
    """Reads pages of a collection's changes, such as `DocumentStore.vector_changes`."""

    def __call__(self, since: Version, cursor: Cursor | None, limit: int, /) -> ChangePage[AnyChange]:
        """Read changes after version `since`, or from `cursor` on. Raises as `DocumentStore`."""


def read_pages(
    read: PageReader[AnyChange], since: Version, stop: Event | None = None
) -> Iterator[ChangePage[AnyChange]]:
    """Read all changes after a version.

    Blocks: iterate off the event loop.

    Raises:
        UnknownCollection: the collection was deleted.
        VersionMismatch: it was recreated since, so it has another epoch.
        HistoryLost: its database was recovered to an earlier state.
        Stopped: `stop` was set between pages.
    """
    cursor = None
    while True:
        if stop is not None and stop.is_set():
            raise Stopped
        page = read(since, cursor, PAGE)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def catch_up(read: PageReader[VectorChange], index: VectorIndex, stop: Event | None = None) -> None:
    """Apply to an index all changes since its version. Raises as `read_pages`.

    Blocks, and must not run concurrently for the same index.
    """
    for page in read_pages(read, index.version, stop):
        index.apply(page.changes)
        index.advance(page.complete)
