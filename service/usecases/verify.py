"""Is everything that is stored whole, and does every index hold just that?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.ports.documents import Change, Collection, DocumentStore
from semblance.service.ports.indexes import Indexes, VectorIndex
from semblance.service.replication.change_feed import PAGE, catch_up

LENGTH_ERROR = 1e-4  # how far the length of a stored vector may be from 1; float32 rounds to about 1e-7


@dataclass(frozen=True, slots=True)
class Verified:
    """A collection, the version that its index was saved at, and what is wrong with it."""

    name: str
    documents: int
    version: str
    snapshot: str
    faults: Sequence[str]


def verify(store: DocumentStore, indexes: Indexes) -> Iterator[Verified]:
    """Look at every document of every collection, and at the same document in the index. Changes none of them."""
    for collection in store.collections():
        saved = indexes.load(collection)
        snapshot = "none" if saved is None else str(saved.version)
        index = saved
        if index is None:
            index = indexes.new(collection, store.sizes([collection.name])[0][1].documents)
        try:
            catch_up(partial(store.changes_since, collection.name), index)
        except (ValueError, AssertionError):  # one of another length fits into no index; which, the look at each tells
            yield _verified(store, collection, None, snapshot)
        else:
            yield _verified(store, collection, index, snapshot)


def _verified(store: DocumentStore, collection: Collection, index: VectorIndex | None, snapshot: str) -> Verified:
    faults: list[str] = []
    documents, cursor = 0, None
    while True:
        page = store.changes_since(collection.name, 0, cursor, PAGE)
        live = set(store.get(collection.name, [change.id for change in page.changes]))
        coded = live
        if collection.settings.tokens == "int8":
            coded = set(store.codes(collection.name, list(live), collection.settings.space))
        for change in page.changes:
            faults += _faults_of(change, collection.settings.dim, alive=change.id in live)
        faults += _missed(page.changes, index)
        faults += [f"{doc_id!r} has no token codes" for doc_id in sorted(live - coded)]
        documents += len(live)
        cursor = page.cursor
        if cursor is None:
            break
    if index is not None and len(index) != documents:
        faults.append(f"the index holds {len(index):,} documents, the store {documents:,}")
    return Verified(collection.name, documents, str(collection.version), snapshot, faults)


def _missed(changes: Sequence[Change], index: VectorIndex | None) -> list[str]:
    if index is None:
        return []
    held = index.vectors([change.id for change in changes])
    return [
        f"{change.id!r} is not in the index as it is stored"
        for change in changes
        if not _same(held.get(change.id), change.vector)
    ]


def _faults_of(change: Change, dim: int, *, alive: bool) -> Iterator[str]:
    vector = change.vector
    if alive != (vector is not None):
        yield f"{change.id!r} has no vector" if alive else f"{change.id!r} is deleted, but has a vector"
    if vector is None:
        return
    if len(vector) != dim:
        yield f"{change.id!r} has a vector of {len(vector)} numbers, not {dim}"
    elif not abs(float(np.linalg.norm(vector.astype(np.float64))) - 1.0) <= LENGTH_ERROR and vector.any():
        # a model of words has the zero vector for a text without a known one; NaN is neither
        yield f"{change.id!r} has a vector that is not of unit length"


def _same(held: Floats | None, stored: Floats | None) -> bool:
    if held is None or stored is None:
        return held is stored
    return np.array_equal(held, stored)
