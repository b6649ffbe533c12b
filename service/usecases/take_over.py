"""How a copy of the store follows it, collection by collection: a replica's own, or a backup."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import Any, Protocol

from service.errors import Overtaken, UnknownCollection, VersionMismatch
from service.ports import (
    NOTHING_YET,
    ChangePage,
    Collection,
    CopyStore,
    DocumentStore,
    Rollover,
    Version,
    WholeChange,
)
from service.usecases.catch_up import catch_up

log = logging.getLogger(__name__)


class Hand(Protocol):
    """How a copy is changed: by whoever may, beside its readers."""

    def change(self, act: Callable[[], Any]) -> None:
        """Have `act` change documents, or a collection, of the copy."""

    def switch(self, name: str, number: int) -> None:
        """Let the next encoder of a collection be its own in the copy, at version `number`: `CopyStore.take_next`."""


class PlainHand:
    """The hand of a copy that nobody reads meanwhile."""

    def __init__(self, copy: CopyStore) -> None:
        self._copy = copy

    def change(self, act: Callable[[], Any]) -> None:
        """Change the copy at once."""
        act()

    def switch(self, name: str, number: int) -> None:
        """Switch at once."""
        self._copy.take_next(name, number)


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
            except (VersionMismatch, Overtaken):  # made anew, or switched to another encoder, since we looked
                continue

    def _drop(self, name: str) -> None:
        if self._here(name) is not None:
            self._hand.change(lambda: self._copy.drop(name))

    def _bring_up(self, there: Collection) -> None:
        """The copy as the store is. Raises Overtaken, VersionMismatch: that is no longer what `there` says."""
        name = there.name
        here = self._here(name)
        if here is None or _begins_anew(here, there):
            self._hand.change(lambda: self._copy.begin_life(there))
            here = self._copy.collection(name)
        if here.settings.space != there.settings.space:
            self._follow(there, here.version, through=there.switched - 1)
            settings = there.settings
            next_one = Rollover(settings.model, settings.space, settings.dim)
            self._hand.change(lambda: self._copy.take_rollover(name, next_one))
            self._hand.switch(name, there.switched)
            here = self._copy.collection(name)
        if here.version != there.version:
            self._follow(there, here.version)
        if here.rollover != there.rollover:
            self._hand.change(lambda: self._copy.take_rollover(name, there.rollover))

    def _follow(self, there: Collection, since: Version, through: int | None = None) -> None:
        follower = _CopyOfCollection(since, lambda changes: self._put(there.name, changes))
        catch_up(partial(self._pages, there, through), follower, self._stop)
        if follower.version != since:
            self._hand.change(lambda: self._copy.advance(there.name, follower.version.number))

    def _pages(
        self, there: Collection, through: int | None, since: int, cursor: tuple[int, str] | None, limit: int
    ) -> ChangePage[WholeChange]:
        page = self._store.whole_changes_since(there.name, since, cursor, limit, through)
        if page.space != there.settings.space:  # the former encoder's vectors are gone from the store
            raise Overtaken
        return page

    def _put(self, name: str, changes: Sequence[WholeChange]) -> None:
        if changes:
            self._hand.change(lambda: self._copy.put(name, changes))
            self._on_put(len(changes))

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


class _CopyOfCollection:
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
