"""Check that stored documents are intact, and that indexes contain exactly these."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from semblance.models.alignment.quantized_tokens import is_codes
from semblance.models.embeddings import Floats
from semblance.service.errors import IndexDamaged
from semblance.service.ports.document_store import DocumentStore, MaintainedStore
from semblance.service.ports.documents import Collection, PassageKey, VectorChange, Version
from semblance.service.ports.indexes import Indexes, VectorIndex
from semblance.service.replication.change_feed import catch_up, read_pages

LENGTH_ERROR = 1e-4  # tolerated deviation of a stored vector's length from 1; float32 rounds to about 1e-7


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """A collection, the version of its index snapshot, and the faults found."""

    name: str
    documents: int
    version: str
    snapshot: str
    faults: Sequence[str]


def verify(store: MaintainedStore, indexes: Indexes, tables: Container[str] = ()) -> Iterator[VerificationReport]:
    """Compare every document with its entry in the index. Changes no document.

    `tables` has the spaces of tables of words: these give the zero vector to a text without a known word. Networks do
    so to none, but earlier releases stored it in place of vectors that were not finite.
    """
    for collection in store.collections():
        read = partial(store.vectors, collection.name, generation=collection.settings.generation)
        saved, damage = indexes.load_or_damage(collection, read)
        snapshot = "none" if saved is None else str(saved.version)
        index = saved
        if index is None:
            index = indexes.new(collection, store.sizes([collection.name])[0][1].passages, read)
        try:
            catch_up(partial(store.vector_changes, collection.name), index)
            report = _verify_collection(store, collection, index, snapshot, tables)
        except IndexDamaged as error:
            damage = repr(error.__cause__)
            report = _verify_collection(store, collection, None, snapshot, tables)
        except (ValueError, AssertionError):  # a vector of another length fits no index; the report names it
            report = _verify_collection(store, collection, None, snapshot, tables)
        yield report if not damage else replace(report, faults=[*report.faults, f"its index is damaged: {damage}"])


def _verify_collection(
    store: MaintainedStore, collection: Collection, index: VectorIndex | None, snapshot: str, tables: Container[str]
) -> VerificationReport:
    faults = store.damaged_rows(collection.name)
    documents = entries = 0
    start, dim = Version(collection.version.epoch, 0), collection.settings.dim
    may_be_zero = collection.settings.space in tables
    for page in read_pages(partial(store.vector_changes, collection.name), start):
        live = set(store.get(collection.name, [change.id for change in page.changes]))
        for change in page.changes:
            faults += _faults_of(change, dim, alive=change.id in live, may_be_zero=may_be_zero)
        if index is not None:
            compared = index.compare(page.changes)
            faults += [f"{doc_id!r} is not in the index as it is stored" for doc_id in compared.differing]
            entries += compared.entries
        if collection.settings.tokens == "int8":
            faults += _code_faults(store, collection, [change for change in page.changes if change.id in live])
        documents += len(live)
    if index is not None and len(index) != documents:
        faults.append(f"the index contains {len(index):,} documents, the store {documents:,}")
    if index is not None and index.entries != entries:
        faults.append(f"the index finds passages under {index.entries:,} values and terms, not {entries:,}")
    return VerificationReport(collection.name, documents, str(collection.version), snapshot, faults)


def _code_faults(store: DocumentStore, collection: Collection, changes: Sequence[VectorChange]) -> list[str]:
    passages = [PassageKey(change.id, i) for change in changes for i in range(len(_vectors(change)))]
    codes = store.codes(collection.name, passages, collection.settings.generation)
    unreadable = {passage.document for passage in codes if not is_codes(codes[passage], collection.settings.dim)}
    missing = {passage.document for passage in passages if passage not in codes}
    return [
        *(f"{doc_id!r} has unreadable token codes" for doc_id in sorted(unreadable)),
        *(f"{doc_id!r} has no token codes" for doc_id in sorted(missing)),
    ]


def _faults_of(change: VectorChange, dim: int, *, alive: bool, may_be_zero: bool) -> Iterator[str]:
    if alive != (change.vectors is not None):
        yield f"{change.id!r} has no vector" if alive else f"{change.id!r} is deleted, but has a vector"
    for vector in _vectors(change):
        yield from _vector_faults(change, vector, dim, may_be_zero=may_be_zero)


def _vectors(change: VectorChange) -> Sequence[Floats]:
    return [] if change.vectors is None else list(change.vectors)


def _vector_faults(change: VectorChange, vector: Floats, dim: int, *, may_be_zero: bool) -> Iterator[str]:
    if len(vector) != dim:
        yield f"{change.id!r} has a vector of {len(vector)} numbers, not {dim}"
    elif not vector.any():
        if not may_be_zero:
            yield (
                f"{change.id!r} has the zero vector, as if its model had failed: re-embed the collection, or list its "
                "model in SEMBLANCE_MODELS if that is a table of words"
            )
    elif not abs(float(np.linalg.norm(vector.astype(np.float64))) - 1.0) <= LENGTH_ERROR:  # also if it has NaN
        yield f"{change.id!r} has a vector that is not of unit length"
