"""The indexes that a node has in memory, and their snapshots."""

from __future__ import annotations

import logging
from collections.abc import Collection as Names
from dataclasses import dataclass
from functools import partial

from semblance.service.errors import IndexDamaged, UnknownCollection
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.indexes import Indexes, VectorIndex, VectorReader
from semblance.service.replication.retries import log_failure

log = logging.getLogger(__name__)

SNAPSHOT_SHARE = 0.01  # of the rows that have changed since a snapshot, before the next; a start applies them again


@dataclass(frozen=True, slots=True)
class IndexedCollection:
    """An index, and its collection as it was when the index last caught up."""

    collection: Collection
    index: VectorIndex

    def matches(self, collection: Collection) -> bool:
        """Whether the index is of the same epoch and the same encoder."""
        own = self.collection.settings.generation
        return (self.index.version.epoch, own) == (collection.version.epoch, collection.settings.generation)


@dataclass(frozen=True, slots=True)
class _SnapshotState:
    """Version and number of rows of an index when its snapshot was saved."""

    version: Version
    rows: int

    def changes(self, index: VectorIndex) -> int:
        """About how many documents have changed since: new rows, and writes that added none."""
        return index.rows - self.rows + index.version.number - self.version.number


class HeldIndexes:
    """Indexes by the name of their collection.

    Changed in the writer thread of a node only; any thread may read.
    """

    def __init__(self, store: DocumentStore, folder: Indexes) -> None:
        self._store = store
        self._folder = folder
        self._held: dict[str, IndexedCollection] = {}
        self._saved: dict[str, _SnapshotState] = {}

    def get(self, name: str) -> IndexedCollection | None:
        """An index that is in memory."""
        return self._held.get(name)

    def hold(self, collection: Collection, index: VectorIndex) -> None:
        """Keep an index, in place of a former one."""
        self._held[collection.name] = IndexedCollection(collection, index)

    def empty(self, collection: Collection) -> VectorIndex:
        """Create an index, which is not kept."""
        passages = self._store.sizes([collection.name])[0][1].passages
        return self._folder.new(collection, passages, self._stored_vectors(collection))

    def load(self, collection: Collection) -> VectorIndex | None:
        """Load the snapshot, or remove it from the disk if it is unusable.

        One ahead of a store that was restored alone would later pass for the store's own, once enough was written.
        """
        index = self._folder.load(collection, self._stored_vectors(collection))
        if index is None:
            self._discard(collection.name)
        else:
            self._saved[collection.name] = _SnapshotState(index.version, index.rows)
        return index

    def drop(self, name: str) -> None:
        """Forget an index and its snapshot; the next use rebuilds it."""
        self._held.pop(name, None)
        self._saved.pop(name, None)
        self._discard(name)

    def drop_damaged(self, error: IndexDamaged) -> None:
        """Drop the index that raised an error, unless it was replaced since."""
        for name, each in list(self._held.items()):
            if each.index is error.index:
                log.error("the index of collection %s is damaged: %r", name, error.__cause__)
                self.drop(name)

    def keep_only(self, names: Names[str]) -> None:
        """Drop the indexes and the snapshots of all other collections."""
        for name in self._held.keys() - set(names):
            self._held.pop(name)
            self._saved.pop(name, None)
        self._folder.keep_only(list(names))

    def outdated(self) -> list[str]:
        """Names of the indexes that changed by enough since their last snapshots."""
        held = list(self._held.items())
        return [name for name, each in held if self._changes(name, each.index) > SNAPSHOT_SHARE * each.index.rows]

    def save_all(self) -> None:
        """Save a snapshot of every index that has changed."""
        for name in list(self._held):
            self.save(name)

    def save(self, name: str, always: bool = False) -> None:
        """Save a snapshot of an index if it has changed, or always.

        Searches continue, changes must wait.
        """
        indexed = self._held.get(name)
        if indexed is None:
            return
        state = _SnapshotState(indexed.index.version, indexed.index.rows)
        if self._saved.get(name) == state and not always:
            return
        try:
            collection = self._store.collection(name)
            if not indexed.matches(collection):  # it is about to be replaced
                return
            self._folder.save(collection, indexed.index)
        except UnknownCollection:
            return
        except IndexDamaged as error:
            self.drop_damaged(error)
        except (OSError, RuntimeError, ValueError) as error:
            log_failure(log, f"no snapshot of the index of collection {name} could be written", error)
        else:
            self._saved[name] = state

    def _changes(self, name: str, index: VectorIndex) -> float:
        saved = self._saved.get(name)
        return float("inf") if saved is None else saved.changes(index)

    def _discard(self, name: str) -> None:
        try:
            self._folder.discard(name)
        except OSError:
            log.exception("the unusable snapshot of collection %s could not be removed", name)

    def _stored_vectors(self, collection: Collection) -> VectorReader:
        return partial(self._store.vectors, collection.name, generation=collection.settings.generation)
