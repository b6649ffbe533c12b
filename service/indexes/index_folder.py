"""The indexes of all collections, and where their snapshots lie."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from semblance.models import catalogue
from semblance.service.indexes import snapshots
from semblance.service.indexes.choice import engine_for
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.names import RULE, is_name
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import Collection
from semblance.service.ports.indexes import ENGINES, VectorIndex


class IndexFolder:
    """Makes indexes with the engine that suits them, and keeps each one's snapshot in a folder named as the collection.

    Args:
        folder: holds nothing else; created when the first snapshot is saved.
        device: of the engines that can search on one.
    """

    def __init__(self, folder: Path, device: Device = ON_CPU) -> None:
        self._folder = folder
        self._device = device

    def new(self, collection: Collection, documents: int) -> VectorIndex:
        """An empty index for a collection that holds about so many documents."""
        settings = collection.settings
        engine = catalogue.find(ENGINES, engine_for(settings.index, documents))
        return CollectionIndex(engine(settings.dim, documents, self._device), collection.version.epoch, settings.index)

    def load(self, collection: Collection) -> VectorIndex | None:
        """The index as the snapshot has it, or None."""
        return snapshots.load(self._of(collection.name), collection, self._device)

    def discard(self, name: str) -> None:
        """Remove the snapshot of a collection, so that it is never loaded again. Raises OSError."""
        snapshots.discard(self._of(name))

    def save(self, collection: Collection, index: VectorIndex) -> None:
        """Save a snapshot. Raises OSError, RuntimeError."""
        assert isinstance(index, CollectionIndex)  # there is no other maker of indexes
        snapshots.save(self._of(collection.name), index, collection.settings)

    def copy(self, target: Path) -> None:
        """Copy the snapshots into another folder, beside a service that saves newer ones. Raises OSError."""
        for folder in self._folder.glob("*"):
            snapshots.copy(folder, target / folder.name)

    def keep_only(self, names: Sequence[str]) -> None:
        """Remove the snapshots of other collections."""
        for folder in self._folder.glob("*"):
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def _of(self, name: str) -> Path:
        """The folder of a collection. Names come from the store, which may be a backup from anywhere."""
        if not is_name(name):
            raise ValueError(f"the store has a collection {name!r}, but {RULE}")
        return self._folder / name
