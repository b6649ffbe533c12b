"""How an index, or a copy of the store, follows it: at start, after a crash, after every write; no other way."""

from __future__ import annotations

from threading import Event
from typing import Protocol

from semblance.service.errors import VersionMismatch
from semblance.service.ports.documents import AnyChange, ChangePage, Follower, Version

PAGE = 2048  # changes read at a time: 3 MB of vectors of 384 numbers


class Stopped(Exception):
    """There was no time to follow to the end."""


class Changes(Protocol[AnyChange]):
    """Pages of a collection's changes, as `DocumentStore.changes_since` gives them."""

    def __call__(self, since: int, cursor: tuple[int, str] | None, limit: int, /) -> ChangePage[AnyChange]:
        """Up to `limit` changes after version `since`, or from `cursor` on. Raises UnknownCollection."""


def catch_up(changes: Changes[AnyChange], follower: Follower[AnyChange], stop: Event | None = None) -> None:
    """Apply to `follower` everything that a collection went through since it last looked.

    Blocks: call it off the event loop, and never twice at once for the same follower.

    Raises:
        UnknownCollection: the collection is gone.
        VersionMismatch: it was made anew since; follow it with a new follower.
        Stopped: `stop` was set in between.
    """
    since, cursor = follower.version, None
    while True:
        if stop is not None and stop.is_set():
            raise Stopped
        page = changes(since.number, cursor, PAGE)
        if page.collection.version.epoch != since.epoch:
            raise VersionMismatch("the collection was made anew")
        follower.apply(page.changes)
        follower.advance(Version(since.epoch, page.complete))
        cursor = page.cursor
        if cursor is None:
            return
