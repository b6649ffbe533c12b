"""Copy collections between stores: to the local copy of a replica, or to a backup."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any, Protocol

from semblance.service.errors import HistoryLost, OptimisticConflict, UnknownCollection, VersionMismatch
from semblance.service.ports.document_store import CopyStore, DocumentStore
from semblance.service.ports.documents import INCOMPLETE_VERSION, ChangePage, Collection, DocumentChange, Version
from semblance.service.replication.change_feed import read_pages

log = logging.getLogger(__name__)


class CopyWriter(Protocol):
    """Coordinates changes to a copy with its readers and indexes; `LocalNode` is one. Blocks."""

    def run_as_writer(self, act: Callable[[], Any]) -> Any:
        """Run `act`, which changes the copy."""

    def begin_epoch(self, name: str, act: Callable[[], Any], /) -> None:
        """Run `act`, which begins an epoch of a collection, and discard derived data."""

    def switch_with(self, name: str, act: Callable[[], Any], /) -> Any:
        """Prepare for the next encoder of a collection, then run `act`, which switches to it."""


class DirectWriter:
    """Runs changes to a copy that has no readers and no indexes."""

    def run_as_writer(self, act: Callable[[], Any]) -> Any:
        """Run `act`."""
        return act()

    def begin_epoch(self, _: str, act: Callable[[], Any]) -> None:
        """Run `act`."""
        act()

    def switch_with(self, _: str, act: Callable[[], Any]) -> Any:
        """Run `act`."""
        return act()


class Copier:
    """Brings the copy of a collection up to the store.

    Blocks: call it off the event loop, and never concurrently for the same copy.

    Args:
        store: the primary.
        copy: its copy.
        writer: runs the changes to the copy.
        stop: set to abandon copying at the next page.
        on_page: progress callback: receives the number of documents of each page.
        clock: in seconds.

    Attributes:
        last_full_copy_at: when the last copy of a whole collection ended; infinite while one runs.
    """

    def __init__(
        self,
        store: DocumentStore,
        copy: CopyStore,
        writer: CopyWriter,
        stop: Event | None = None,
        on_page: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._copy = copy
        self._writer = writer
        self._stop = stop
        self._on_page = on_page
        self._clock = clock
        self.last_full_copy_at = clock()

    def __call__(self, name: str) -> None:
        """Bring one collection up to the store, or drop it if the store has none of that name.

        Raises:
            StoreUnavailable: the store does not respond; a later call resumes.
            Stopped: `stop` was set.
        """
        while True:
            try:
                return self._bring_up(self._store.collection(name))
            except UnknownCollection:
                return self._drop(name)
            except HistoryLost as error:
                log.warning("copying collection %s again: %s", name, error)
                self._begin_epoch(self._store.collection(name))
            except (VersionMismatch, OptimisticConflict):  # recreated, or its encoders changed, since it was read
                continue

    def announce(self, source: Collection) -> None:
        """Create a collection in the copy, still incomplete, if it is not there."""
        if self._copied(source.name) is None:
            self._begin_epoch(source)

    def _drop(self, name: str) -> None:
        if self._copied(name) is not None:
            self._writer.run_as_writer(lambda: self._copy.drop(name))

    def _bring_up(self, source: Collection) -> None:
        """Copy what changed. Raises OptimisticConflict, VersionMismatch: `source` is outdated."""
        name, settings = source.name, source.settings
        target = self._copied(name)
        if target is None or _must_restart(target, source):
            self._begin_epoch(source)
            target = self._copy.collection(name)
        switched = target.settings.generation != settings.generation
        # Where the store has switched, its encoder is still the next one here: readers of the copy need the former
        # encoder's vectors until the index of its successor is built.
        next_one = settings.as_next() if switched else source.reembedding
        if target.reembedding != next_one:
            self._writer.run_as_writer(lambda: self._copy.set_reembedding(name, next_one))
        if target.glossary != source.glossary:
            self._writer.run_as_writer(lambda: self._copy.copy_glossary(name, source.glossary))
        if switched:
            with self._full_copy():
                last = self._put_pages(source, target.version)
                act = partial(self._copy.set_encoders, source, last.complete, last.commits)
                self._writer.switch_with(name, act)
        elif target.version.number == INCOMPLETE_VERSION:
            # Page by page, so that no transaction grows with the collection. The version is recorded with the last
            # one: until then the copy mixes states, and must not be served.
            with self._full_copy():
                last = self._put_pages(source, target.version)
                self._writer.run_as_writer(partial(self._copy.advance, name, last.complete, last.commits))
        elif target.version != source.version:
            # In one transaction: readers see one version or the other. Outside the writer's turn, because the pages
            # come over the network.
            self._copy.apply(name, self._pages(source, target.version))

    def _put_pages(self, source: Collection, since: Version) -> ChangePage[DocumentChange]:
        """Store changes, a transaction for each page; return the last page."""
        for page in self._pages(source, since):
            self._writer.run_as_writer(partial(self._copy.put, source.name, page.changes))
        return page

    def _pages(self, source: Collection, since: Version) -> Iterator[ChangePage[DocumentChange]]:
        for page in read_pages(partial(self._store.document_changes, source.name), since, self._stop):
            if replace(page.collection, version=source.version) != source:  # embeddings were added or deleted
                raise OptimisticConflict
            self._on_page(len(page.changes))
            yield page

    def _begin_epoch(self, source: Collection) -> None:
        self._writer.begin_epoch(source.name, lambda: self._copy.begin_epoch(source))

    def _copied(self, name: str) -> Collection | None:
        try:
            return self._copy.collection(name)
        except UnknownCollection:
            return None

    @contextmanager
    def _full_copy(self) -> Iterator[None]:
        self.last_full_copy_at = math.inf
        try:
            yield
        finally:
            self.last_full_copy_at = self._clock()


def _must_restart(target: Collection, source: Collection) -> bool:
    """Whether the copy is of another history, ahead, or too incomplete for a switch."""
    if target.version.epoch != source.version.epoch or target.version.number > source.version.number:
        return True
    if target.version.contradicts(source.version):
        return True
    return target.version.number == INCOMPLETE_VERSION and target.settings.generation != source.settings.generation
