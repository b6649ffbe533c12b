"""Fill a remote index from the primary, as the one process of all replicas that does."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from threading import Event

from semblance.service.errors import (
    HistoryLost,
    IndexUnavailable,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
)
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.remote_index import IndexLeadership, IndexMark, RemoteCollection, RemoteIndex
from semblance.service.replication.change_feed import Stopped, read_pages

log = logging.getLogger(__name__)

CHECK_S = 5.0  # between comparisons of the server's record with ours
PAGES_PER_TURN = 8  # of a collection, before the others have theirs
COUNT_S = 600.0  # between counts of the passages on the server, which take long in large collections


@dataclass(slots=True)
class _Progress:
    """Known state of a collection on the server, and when it was compared.

    Attributes:
        new_until: version of the primary when the collection was created on the server, by this process: each document
            is written there once for all versions up to it. -1 if that is not known.
    """

    position_at: float = float("-inf")
    count_at: float = float("-inf")
    refilled: bool = False  # since the last time that its passages were as many as expected
    new_until: int = -1


class IndexWriter:
    """Brings the index up to the primary, while this process leads. For one thread.

    The marks in the primary never run ahead of the record on the server, which is written first. A record that is
    missing, behind its mark, or of another history shows that the server has lost its data or was set back; too few
    or too many passages show it, too. Then the collection is filled from the start, and searches are rejected
    meanwhile.

    Args:
        store: the primary.
        index: the server.
        leadership: the right to fill it, and the marks.
        stop: ends a round between pages.
    """

    def __init__(self, store: DocumentStore, index: RemoteIndex, leadership: IndexLeadership, stop: Event) -> None:
        self._store = store
        self._index = index
        self._leadership = leadership
        self._stop = stop
        self._progress: dict[str, _Progress] = {}
        # key -> collection: these failed in their last turn, and have the last turn in a round
        self._failed: dict[str, str] = {}

    @property
    def failed(self) -> Set[str]:
        """Names of the collections that could not be brought up to the primary; see the log."""
        return set(self._failed.values())

    def round(self) -> bool:
        """Bring every collection nearer to the primary, or ping the server if another one leads.

        Returns whether that is done; large collections take several rounds, so that the others need not wait.
        """
        try:
            if self._leadership.acquire():
                return self._lead()
            self._progress.clear()
            self._failed.clear()
            self._index.ping()
        except (IndexUnavailable, StoreUnavailable):  # logged where they are noticed
            self._progress.clear()
        except Stopped:
            pass
        except Exception:
            log.exception("the index could not be brought up to the database; retrying")
        return True

    def _lead(self) -> bool:
        wanted = _targets(self._store.collections())
        marks = self._leadership.marks()
        for key in marks.keys() - wanted.keys():
            self._index.drop(key)
            self._leadership.remove(key)
        self._failed = {key: name for key, name in self._failed.items() if key in wanted}
        done = True
        for key in sorted(wanted, key=lambda key: key in self._failed):
            try:
                done &= self._bring_up(*wanted[key], marks.get(key))
            except (UnknownCollection, VersionMismatch):  # deleted or recreated meanwhile: the next round sees it
                continue
            except Exception as error:
                self._failed[key] = wanted[key][0].name
                if isinstance(error, IndexUnavailable | StoreUnavailable | Stopped):
                    raise
                log.exception("collection %s could not be brought into the index; retrying", wanted[key][0].name)
                continue
            self._failed.pop(key, None)
        return done

    def _bring_up(self, collection: Collection, target: RemoteCollection, mark: IndexMark | None) -> bool:
        """Apply some pages of changes. Returns whether these were all."""
        progress = self._progress.setdefault(target.key, _Progress())
        if mark is None or not self._has_record(collection, target, mark, progress):
            mark = self._begin(collection, target, progress, found=mark)
        if mark.version != collection.version or not mark.complete:
            try:
                mark, done = self._follow(collection, target, mark, progress)
            except HistoryLost:
                log.warning("the database of collection %s was set back", collection.name)
                self._begin(collection, target, progress, found=mark)
                return False
            if not done:
                return False
        if self._has_passages(collection, target, mark, progress):
            return True
        if progress.refilled:
            log.error("the server does not count the passages of collection %s as expected", collection.name)
            progress.count_at = math.inf  # filling it again and again would not help
            return True
        progress.refilled = True
        self._begin(collection, target, progress, found=mark)
        return False

    def _begin(
        self, collection: Collection, target: RemoteCollection, progress: _Progress, found: IndexMark | None
    ) -> IndexMark:
        """Create a collection on the server; from the mark on, no search uses what was there."""
        if found is not None:
            log.warning("filling the index of collection %s again: it does not agree with its mark", collection.name)
        mark = IndexMark(target.key, collection.name, Version(collection.version.epoch, 0), complete=False)
        self._leadership.set(mark)
        self._index.create(target)
        if target.generation == collection.settings.generation:  # the next encoder's vectors come in another order
            progress.new_until = collection.version.number
        return mark

    def _follow(
        self, collection: Collection, target: RemoteCollection, mark: IndexMark, progress: _Progress
    ) -> tuple[IndexMark, bool]:
        """Apply some pages of the changes after a mark; the flag says whether these were all.

        Raises HistoryLost, VersionMismatch, UnknownCollection, Stopped.
        """
        read = partial(self._store.vector_changes, collection.name, generation=target.generation)
        began = mark.version.number
        for number, page in enumerate(read_pages(read, mark.version, self._stop), 1):
            self._index.apply(target, page.changes, new_until=progress.new_until)
            self._index.advance(target, page.complete)
            complete = mark.complete or page.cursor is None
            mark = IndexMark(target.key, collection.name, page.complete, complete)
            self._leadership.set(mark)
            if number >= PAGES_PER_TURN and page.complete.number > began and page.cursor is not None:
                return mark, False
        return mark, True

    def _has_record(
        self, collection: Collection, target: RemoteCollection, mark: IndexMark, progress: _Progress
    ) -> bool:
        """Whether the server's record agrees with the mark, or is ahead of it in the same history.

        Always asked before the record is replaced: a new one would hide that the server was set back.
        """
        if mark.version == collection.version and time.monotonic() - progress.position_at < CHECK_S:
            return True
        position = self._index.position(target)
        if position is None:
            return False
        if position != mark.version:  # a former leader may have ended between the record and the mark
            ahead = position.epoch == mark.version.epoch and position.number >= mark.version.number
            if not ahead or not self._store.has_version(collection.name, position):
                return False
        progress.position_at = time.monotonic()
        return True

    def _has_passages(
        self, collection: Collection, target: RemoteCollection, mark: IndexMark, progress: _Progress
    ) -> bool:
        """Whether the server has as many passages as the primary, as far as both are of one version."""
        if time.monotonic() - progress.count_at < COUNT_S or target.generation != collection.settings.generation:
            return True
        try:
            count = self._index.count(target)
            [(now, size)] = self._store.sizes([collection.name])
        except (IndexUnavailable, StoreUnavailable):  # too many to count in time
            progress.count_at = time.monotonic()
            return True
        if now.version != mark.version:  # written to meanwhile: the next round counts
            return True
        if count != size.passages:
            return False
        progress.count_at, progress.refilled = time.monotonic(), False
        return True


def _targets(collections: list[Collection]) -> Mapping[str, tuple[Collection, RemoteCollection]]:
    """Targets on the server: vectors of each collection's encoder, and of its next one."""
    wanted: dict[str, tuple[Collection, RemoteCollection]] = {}
    for collection in collections:
        for target in (
            RemoteCollection.of(collection),
            collection.reembedding and RemoteCollection.of(collection, collection.reembedding),
        ):
            if target:
                wanted[target.key] = (collection, target)
    return wanted
