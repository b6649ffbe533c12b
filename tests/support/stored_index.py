"""An index beside a store in memory, which it reads exact vectors from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import ENGINES


class StoredIndex(CollectionIndex):
    """Index of an engine for about `expected` rows of `dim` numbers, whose vectors are kept in a dictionary."""

    def __init__(self, engine: str, dim: int, expected: int = 0, epoch: str = "epoch") -> None:
        super().__init__(catalogue.find(ENGINES, engine)(dim, expected), epoch, engine, self.stored_vectors)
        self._stored: dict[str, Floats] = {}

    def apply(self, changes: Sequence[VectorChange]) -> None:
        for change in changes:
            if change.vectors is None:
                self._stored.pop(change.id, None)
            else:
                self._stored[change.id] = change.vectors
        super().apply(changes)

    def stored_vectors(self, ids: Sequence[str]) -> Mapping[str, Floats]:
        return {doc_id: self._stored[doc_id] for doc_id in ids if doc_id in self._stored}
