"""What a node knows of the index of a collection."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.indexes import VectorIndex


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
class SnapshotState:
    """Version and number of rows of an index when its snapshot was saved."""

    version: Version
    rows: int

    def changes(self, index: VectorIndex) -> int:
        """About how many documents have changed since: new rows, and writes that added none."""
        return index.rows - self.rows + index.version.number - self.version.number
