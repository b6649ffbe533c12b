"""Vector index of one collection: documents as rows of any engine, filters as bitmaps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter, mismatches
from semblance.service.indexes.engine_choice import suits
from semblance.service.indexes.faiss_rows import use_one_thread
from semblance.service.indexes.postings import Postings, row_numbers
from semblance.service.indexes.shared_lock import SharedLock
from semblance.service.ports.documents import Metadata, VectorChange, Version
from semblance.service.ports.indexes import Hit, VectorRows
from semblance.service.request_warnings import RequestWarning

SPARE_ROWS = 1000  # dead rows that are always tolerated, in addition to as many as live ones
CHANGES_PER_LOCK = 256  # changes applied at a time: searches run in between
QUERIES_PER_LOCK = 64  # queries searched at a time: changes are applied in between

# scanning these takes 6 ms of one core (384 dimensions); a graph of 100,000 rows takes as long at a filter of a tenth
SCANNED_ROWS = 10_000
SCAN_CHUNK = 4096  # rows in memory at a time: 6 MB at 384 dimensions


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """Summary of a saved index: version, engine, number of rows, and of live ones (`count`)."""

    version: Version
    engine: str
    rows: int
    count: int


class CollectionIndex:
    """Index of documents in the rows of an engine.

    Rows are only appended: a new vector takes a new row, and the old row leaves the bitmap of live rows. Filters and
    deletions thus become one bitmap of allowed rows, the same for every engine. Scores are computed here from the rows
    of the hits, so they depend neither on the engine nor on the other queries of the call (FAISS changes its arithmetic
    at 20 queries).

    With an approximate engine, few allowed rows are scanned exhaustively instead, and so are all allowed rows for a
    query with fewer than k results: neither filters nor deletions cost recall.

    Args:
        rows: an empty engine.
        epoch: of the collection.
        index: setting of the collection: the name of an engine, or "auto".
    """

    def __init__(self, rows: VectorRows, epoch: str, index: str) -> None:
        self._rows = rows
        self._index = index
        self._version = Version(epoch, 0)
        self._lock = SharedLock()  # engines do not support searches during an addition
        self._ids: list[str] = []
        self._metadata: list[Metadata] = []
        self._row_of: dict[str, int] = {}
        self._live = BitMap()
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._live)

    @property
    def rows(self) -> int:
        """Number of rows, including those of replaced and deleted documents."""
        return len(self._ids)

    @property
    def needs_rebuild(self) -> bool:
        """Whether another engine or a larger one suits better, or too many rows are dead."""
        wasteful = self.rows > 2 * len(self) + SPARE_ROWS
        return wasteful or self._rows.outgrown(len(self)) or not suits(self._rows.name, self._index, len(self))

    @property
    def version(self) -> Version:
        """Version of the store up to which all changes were applied."""
        return self._version

    def advance(self, version: Version) -> None:
        """Record that every change up to `version` was applied."""
        self._version = version

    def apply(self, changes: Sequence[VectorChange]) -> None:
        """Apply the latest state of some documents."""
        for start in range(0, len(changes), CHANGES_PER_LOCK):
            with self._lock.writing():
                self._apply(changes[start : start + CHANGES_PER_LOCK])

    def search(self, queries: Floats, k: int, where: Filter | None) -> tuple[Version, list[list[Hit]]]:
        """Find the k most similar matching documents for each of (q, d) unit queries.

        Of many queries, later ones may see later changes. The returned version is that of the first query, so comparing
        it with the versions of the documents reveals such changes.
        """
        version = self._version
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES_PER_LOCK):
            with self._lock.reading():
                hits += self._search(queries[start : start + QUERIES_PER_LOCK], k, where)
        return version, hits

    def mismatches(self, where: Filter) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet."""
        with self._lock.reading():
            return mismatches(where, self._postings.types_in)

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (d,) vectors by document id; missing documents are left out."""
        with self._lock.reading():
            present = [doc_id for doc_id in ids if doc_id in self._row_of]
            if not present:
                return {}
            return dict(zip(present, self._rows.rows([self._row_of[doc_id] for doc_id in present]), strict=True))

    def save(self, vectors: Path, documents: Path) -> SavedIndex:
        """Write the engine's rows to a file, and a line of JSON for each to another."""
        with self._lock.reading():
            self._rows.save(vectors)
            with documents.open("w", encoding="utf-8") as stream:
                for row, (doc_id, metadata) in enumerate(zip(self._ids, self._metadata, strict=True)):
                    stream.write(json.dumps([doc_id, dict(metadata)] if row in self._live else None) + "\n")
            return SavedIndex(self._version, self._rows.name, self.rows, len(self))

    @classmethod
    def restore(cls, rows: VectorRows, index: str, version: Version, lines: Iterable[str]) -> Self:
        """Inverse of `save`, from the engine with its rows and the lines.

        Raises:
            ValueError: rows and lines do not match.
        """
        restored = cls(rows, version.epoch, index)
        for line in lines:
            entry = json.loads(line)
            if entry is None:
                restored._ids.append("")
                restored._metadata.append({})
            else:
                restored._add_row(*entry)
        if len(restored._ids) != len(rows) or len(restored._row_of) != len(restored._live):
            raise ValueError(f"{len(rows)} rows do not match {len(restored._ids)} lines")
        restored.advance(version)
        return restored

    def _search(self, queries: Floats, k: int, where: Filter | None) -> list[list[Hit]]:
        allowed = self._live if where is None else self._postings.matching(where, self._live)
        if not allowed:
            return [[] for _ in queries]
        nearest = self._nearest(queries, min(k, len(allowed)), allowed)
        return [self._to_hits(query, rows) for query, rows in zip(queries, nearest, strict=True)]

    def _nearest(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the k nearest allowed rows of each query; at least k rows are allowed."""
        if not self._rows.exact and len(allowed) <= SCANNED_ROWS:
            return _scan(self._rows, queries, k, allowed)
        nearest = self._rows.search(queries, k, allowed)
        short = [i for i, rows in enumerate(nearest) if len(rows) < k]
        if short:
            for i, rows in zip(short, _scan(self._rows, queries[short], k, allowed), strict=True):
                nearest[i] = rows
        return nearest

    def _apply(self, changes: Sequence[VectorChange]) -> None:
        added: list[VectorChange] = []
        for change in changes:
            if change.vector is not None and self._has_vector(change.id, change.vector):
                self._set_metadata(self._row_of[change.id], change.metadata)
                continue
            self._remove(change.id)
            if change.vector is not None:
                added.append(change)
        self._append(added)

    def _has_vector(self, doc_id: str, vector: Floats) -> bool:
        row = self._row_of.get(doc_id)
        return row is not None and np.array_equal(self._rows.rows([row])[0], vector)

    def _set_metadata(self, row: int, metadata: Metadata) -> None:
        self._postings.remove(row, self._metadata[row])
        self._postings.add(row, metadata)
        self._metadata[row] = metadata

    def _remove(self, doc_id: str) -> None:
        row = self._row_of.pop(doc_id, None)
        if row is not None:
            self._live.discard(row)
            self._set_metadata(row, {})

    def _append(self, changes: Sequence[VectorChange]) -> None:
        vectors = [change.vector for change in changes if change.vector is not None]
        if not vectors:
            return
        self._rows.add(np.stack(vectors))
        for change in changes:
            self._add_row(change.id, change.metadata)

    def _add_row(self, doc_id: str, metadata: Metadata) -> None:
        """Assign the next row to a document."""
        row = len(self._ids)
        self._ids.append(doc_id)
        self._metadata.append(metadata)
        self._row_of[doc_id] = row
        self._live.add(row)
        self._postings.add(row, metadata)

    def _to_hits(self, query: Floats, rows: Sequence[int]) -> list[Hit]:
        scores = np.clip(self._rows.rows(rows).astype(np.float64) @ query.astype(np.float64), -1.0, 1.0)
        hits = [Hit(self._ids[row], float(score)) for row, score in zip(rows, scores, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _scan(rows: VectorRows, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
    """Find the k allowed rows of largest product for each of (q, d) queries, exhaustively."""
    use_one_thread()
    numbers = row_numbers(allowed)
    best = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(numbers), SCAN_CHUNK):
        chunk = numbers[start : start + SCAN_CHUNK]
        vectors = rows.rows(chunk.tolist())
        products, at = faiss.knn(queries, vectors, min(k, len(chunk)), metric=faiss.METRIC_INNER_PRODUCT)
        scores, best = np.hstack([scores, products]), np.hstack([best, chunk[at]])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, best = np.take_along_axis(scores, order, 1), np.take_along_axis(best, order, 1)
    return [row.tolist() for row in best]
