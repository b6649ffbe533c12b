"""How a copy of the store follows it, collection by collection: a replica's own, or a backup."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Event
from typing import Any, Protocol

from semblance.service.errors import Overtaken, UnknownCollection, VersionMismatch
from semblance.service.ports.documents import (
    NOTHING_YET,
    ChangePage,
    Collection,
    CopyStore,
    DocumentStore,
    Rollover,
    Version,
    WholeChange,
)
from semblance.service.replication.change_feed import catch_up

log = logging.getLogger(__name__)


class Hand(Protocol):
    """How a copy is changed: by whoever may, beside its readers."""

    def change(self, act: Callable[[], Any]) -> None:
        """Have `act` change documents, or a collection, of the copy."""

    def begin_life(self, collection: Collection) -> None:
        """`CopyStore.begin_life`, and nothing of a former life is used any more."""

    def switch(self, collection: Collection, number: int) -> None:
        """`CopyStore.take_next`, once all is made that its own encoder there needs."""

    def anew(self) -> AbstractContextManager[None]:
        """Round what takes as long as the collection is large, and is not done for having fallen behind."""


class PlainHand:
    """The hand of a copy that nobody reads meanwhile."""

    def __init__(self, copy: CopyStore) -> None:
        self._copy = copy

    def change(self, act: Callable[[], Any]) -> None:
        """Change the copy at once."""
        act()

    def begin_life(self, collection: Collection) -> None:
        """Begin at once."""
        self._copy.begin_life(collection)

    def switch(self, collection: Collection, number: int) -> None:
        """Switch at once."""
        self._copy.take_next(collection, number)

    def anew(self) -> AbstractContextManager[None]:
        """Nothing to do about it."""
        return nullcontext()


class TakeOver:
    """Brings the copy of a collection up to the store.

    Blocks: call it off the event loop, and never twice at once for the same copy.

    Args:
        store: the truth.
        copy: what follows it.
        hand: how the copy is changed.
        stop: set when there is no time left to follow to the end.
        on_put: told how many documents the copy has taken over, each time.
    """

    def __init__(
        self,
        store: DocumentStore,
        copy: CopyStore,
        hand: Hand,
        stop: Event | None = None,
        on_put: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._copy = copy
        self._hand = hand
        self._stop = stop
        self._on_put = on_put

    def __call__(self, name: str) -> None:
        """Bring one collection up to the store, or drop it where the store has none.

        Raises:
            StoreUnavailable: the store does not answer; the copy stays as it is, or goes on from there.
            Stopped: the time is over.
        """
        while True:
            try:
                return self._bring_up(self._store.collection(name))
            except UnknownCollection:
                return self._drop(name)
            except (VersionMismatch, Overtaken):  # made anew, or filled by other encoders, since we looked
                continue

    def announce(self, there: Collection) -> None:
        """Let the copy know of a collection of which it holds nothing yet."""
        if self._here(there.name) is None:
            self._hand.begin_life(there)

    def _drop(self, name: str) -> None:
        if self._here(name) is not None:
            self._hand.change(lambda: self._copy.drop(name))

    def _bring_up(self, there: Collection) -> None:
        """The copy as the store is. Raises Overtaken, VersionMismatch: that is no longer what `there` says."""
        here = self._here(there.name)
        if here is None or _begins_anew(here, there):
            self._hand.begin_life(there)
            here = self._copy.collection(there.name)
        switched = here.settings.space != there.settings.space
        settings = there.settings
        next_one = Rollover(settings.model, settings.space, settings.dim) if switched else there.rollover
        if here.rollover != next_one:
            self._hand.change(lambda: self._copy.take_rollover(there.name, next_one))
        if switched:
            with self._hand.anew():
                number = self._put_all(there, here.version)
                self._hand.switch(there, number)
        elif here.version.number == NOTHING_YET:
            with self._hand.anew():
                number = self._put_all(there, here.version)
                self._hand.change(lambda: self._copy.advance(there.name, number))
        elif here.version != there.version:
            with self._copy.following(there.name) as follower:
                catch_up(partial(self._pages, there), follower, self._stop)

    def _put_all(self, there: Collection, since: Version) -> int:
        """Put all that came after a version, page by page; the version is noted by the caller, when all is there."""
        follower = _Pages(since, lambda changes: self._hand.change(lambda: self._copy.put(there.name, changes)))
        catch_up(partial(self._pages, there), follower, self._stop)
        return follower.version.number

    def _pages(
        self, there: Collection, since: int, cursor: tuple[int, str] | None, limit: int
    ) -> ChangePage[WholeChange]:
        page = self._store.whole_changes_since(there.name, since, cursor, limit)
        now = page.collection
        if (now.settings, now.rollover) != (there.settings, there.rollover):  # what others made may be gone, or be new
            raise Overtaken
        self._on_put(len(page.changes))
        return page

    def _here(self, name: str) -> Collection | None:
        try:
            return self._copy.collection(name)
        except UnknownCollection:
            return None


def _begins_anew(here: Collection, there: Collection) -> bool:
    """Whether the copy is of another life of the collection, or so unfinished that it cannot follow a switch."""
    if here.version.epoch != there.version.epoch or here.version.number > there.version.number:
        return True
    return here.version.number == NOTHING_YET and here.settings.space != there.settings.space


class _Pages:
    """Follows without noting versions in between: the copy is at none of them before the last page."""

    def __init__(self, version: Version, put: Callable[[Sequence[WholeChange]], None]) -> None:
        self.version = version
        self._put = put

    def apply(self, changes: Sequence[WholeChange]) -> None:
        """Take over the latest state of some documents."""
        self._put(changes)

    def advance(self, version: Version) -> None:
        """Remember the version that the copy will have."""
        self.version = version
