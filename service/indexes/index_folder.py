"""Create the indexes of collections, and store their snapshots in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from semblance.models import catalogue
from semblance.service.indexes import snapshots
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.engine_choice import engine_for
from semblance.service.names import RULE, is_name
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import Collection
from semblance.service.ports.indexes import ENGINES, VectorIndex, VectorReader


class IndexFolder:
    """Creates indexes with suitable engines; the snapshot of each is in a subfolder by name.

    Args:
        folder: for snapshots only; created with the first one.
        device: of the engines that can search on a GPU.
    """

    def __init__(self, folder: Path, device: Device = ON_CPU) -> None:
        self._folder = folder
        self._device = device

    @property
    def empty(self) -> bool:
        """Whether no collection has a file here."""
        return not any(self._folder.glob("*/*"))

    def new(self, collection: Collection, passages: int, read: VectorReader) -> VectorIndex:
        """Create an empty index for a collection of about `passages` passages."""
        settings = collection.settings
        engine = catalogue.find(ENGINES, engine_for(settings.index, passages))
        rows = engine(settings.dim, passages, self._device)
        return CollectionIndex(rows, collection.version.epoch, settings.index, read)

    def load(self, collection: Collection, read: VectorReader) -> VectorIndex | None:
        """Load the snapshot of an index, or None if it is missing or unusable."""
        return snapshots.load(self._folder_of(collection.name), collection, read, self._device)

    def load_or_damage(self, collection: Collection, read: VectorReader) -> tuple[VectorIndex | None, str]:
        """As `load`, with the damage of a snapshot that is not used because of it."""
        return snapshots.load_or_damage(self._folder_of(collection.name), collection, read, self._device)

    def discard(self, name: str) -> None:
        """Remove the snapshot of a collection, so that it is never loaded again. Raises OSError."""
        snapshots.discard(self._folder_of(name))

    def save(self, collection: Collection, index: VectorIndex) -> None:
        """Save a snapshot. Raises OSError, RuntimeError."""
        assert isinstance(index, CollectionIndex)  # this class creates all indexes
        snapshots.save(self._folder_of(collection.name), index, collection.settings)

    def copy(self, target: Path) -> None:
        """Copy the snapshots to another folder, while a service may save newer ones. Raises OSError."""
        for folder in self._folder.glob("*"):
            snapshots.copy(folder, target / folder.name)

    def keep_only(self, names: Sequence[str]) -> None:
        """Remove the snapshots of all other collections."""
        for folder in self._folder.glob("*"):
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder_of(self, name: str) -> Path:
        """Folder of a collection. The name is checked: the store may be a backup from elsewhere."""
        if not is_name(name):
            raise ValueError(f"the store has a collection {name!r}, but {RULE}")
        return self._folder / name
