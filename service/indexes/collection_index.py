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
from semblance.service.ports.indexes import Hit, PassageHit, VectorRows
from semblance.service.request_warnings import RequestWarning

SPARE_ROWS = 1000  # dead rows that are always tolerated, in addition to as many as live ones
CHANGES_PER_LOCK = 256  # changes applied at a time: searches run in between
QUERIES_PER_LOCK = 64  # queries searched at a time: changes are applied in between

# scanning these takes 6 ms of one core (384 dimensions); a graph of 100,000 rows takes as long at a filter of a tenth
SCANNED_ROWS = 10_000
MORE_ROWS = 4  # times as many, where those found are of too few documents
SCAN_CHUNK = 4096  # rows in memory at a time: 6 MB at 384 dimensions


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """Summary of a saved index: version, engine, number of rows, and of documents (`count`)."""

    version: Version
    engine: str
    rows: int
    count: int


class CollectionIndex:
    """Index of documents in the rows of an engine, a row for each passage.

    The rows of a document follow each other. They are only appended: a new vector takes a new row, and the old one
    leaves the bitmap of live rows. Filters and deletions thus become one bitmap of allowed rows, the same for every
    engine. Scores are computed here from the rows
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
        self._row_of: dict[str, int] = {}  # of the first passage
        self._more: dict[str, int] = {}  # number of further passages, where there are any
        self._live = BitMap()
        self._later = BitMap()  # rows of passages that are not the first
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def rows(self) -> int:
        """Number of rows, one a passage, including those of replaced and deleted documents."""
        return len(self._ids)

    @property
    def needs_rebuild(self) -> bool:
        """Whether another engine or a larger one suits better, or too many rows are dead."""
        live = len(self._live)
        wasteful = self.rows > 2 * live + SPARE_ROWS
        return wasteful or self._rows.outgrown(live) or not suits(self._rows.name, self._index, live)

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

    def search(
        self, queries: Floats, k: int, where: Filter | None, passages: int = 1
    ) -> tuple[Version, list[list[Hit]]]:
        """Find the k most similar matching documents for each of (q, d) unit queries.

        Of many queries, later ones may see later changes. The returned version is that of the first query, so comparing
        it with the versions of the documents reveals such changes.
        """
        version = self._version
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES_PER_LOCK):
            with self._lock.reading():
                hits += self._search(queries[start : start + QUERIES_PER_LOCK], k, where, passages)
        return version, hits

    def mismatches(self, where: Filter) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet."""
        with self._lock.reading():
            return mismatches(where, self._postings.types_in)

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (p, d) vectors of the passages by document id; missing documents are left out."""
        with self._lock.reading():
            rows = {doc_id: self._rows_of(doc_id) for doc_id in ids if doc_id in self._row_of}
            if not rows:
                return {}
            found = self._rows.rows([row for each in rows.values() for row in each])
            ends = np.cumsum([len(each) for each in rows.values()])
            return dict(zip(rows, np.split(found, ends[:-1]), strict=True))

    def save(self, vectors: Path, documents: Path) -> SavedIndex:
        """Write the engine's rows to a file, and a line of JSON for each to another."""
        with self._lock.reading():
            self._rows.save(vectors)
            with documents.open("w", encoding="utf-8") as stream:
                for row in range(self.rows):
                    stream.write(self._line(row) + "\n")
            return SavedIndex(self._version, self._rows.name, self.rows, len(self))

    @classmethod
    def restore(cls, rows: VectorRows, index: str, version: Version, lines: Iterable[str]) -> Self:
        """Inverse of `save`, from the engine with its rows and the lines.

        Raises:
            ValueError: rows and lines do not match.
        """
        restored = cls(rows, version.epoch, index)
        for line in lines:
            match json.loads(line):
                case None:
                    restored._ids.append("")
                    restored._metadata.append({})
                case str(doc_id):
                    restored._add_later_row(doc_id)
                case [doc_id, metadata]:
                    restored._add_row(doc_id, metadata)
        if len(restored._ids) != len(rows) or len(restored._row_of) + len(restored._later) != len(restored._live):
            raise ValueError(f"{len(rows)} rows do not match {len(restored._ids)} lines")
        restored.advance(version)
        return restored

    def _line(self, row: int) -> str:
        """A row as JSON: id and metadata, the id alone for further passages, null for a dead row."""
        if row not in self._live:
            return "null"
        doc_id = self._ids[row]
        return json.dumps(doc_id if row in self._later else [doc_id, dict(self._metadata[row])])

    def _search(self, queries: Floats, k: int, where: Filter | None, passages: int) -> list[list[Hit]]:
        allowed = self._live if where is None else self._postings.matching(where, self._live)
        wanted = min(k, len(allowed) - allowed.intersection_cardinality(self._later))
        if not wanted:
            return [[] for _ in queries]
        nearest = self._nearest_documents(queries, wanted, allowed)
        hits = [self._to_hits(query, rows)[:wanted] for query, rows in zip(queries, nearest, strict=True)]
        if passages == 1 or not self._more:
            return hits
        return [
            [self._with_passages(query, hit, passages) for hit in each]
            for query, each in zip(queries, hits, strict=True)
        ]

    def _nearest_documents(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the nearest rows for each query, of k documents at least; as many match."""
        nearest, count = self._nearest(queries, k, allowed), k
        while (
            self._more and count < len(allowed) and any(len({self._ids[row] for row in rows}) < k for rows in nearest)
        ):
            count = min(MORE_ROWS * count, len(allowed))
            nearest = self._nearest(queries, count, allowed)
        return nearest

    def _documents(self, rows: Sequence[int]) -> int:
        """Number of documents that have one of the rows."""
        return len({self._ids[row] for row in rows})

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
            if change.vectors is not None and self._has_vectors(change.id, change.vectors):
                for row in self._rows_of(change.id):
                    self._set_metadata(row, change.metadata)
                continue
            self._remove(change.id)
            if change.vectors is not None:
                added.append(change)
        self._append(added)

    def _has_vectors(self, doc_id: str, vectors: Floats) -> bool:
        return doc_id in self._row_of and np.array_equal(self._rows.rows(self._rows_of(doc_id)), vectors)

    def _rows_of(self, doc_id: str) -> range:
        first = self._row_of[doc_id]
        return range(first, first + 1 + self._more.get(doc_id, 0))

    def _set_metadata(self, row: int, metadata: Metadata) -> None:
        self._postings.remove(row, self._metadata[row])
        self._postings.add(row, metadata)
        self._metadata[row] = metadata

    def _remove(self, doc_id: str) -> None:
        if doc_id not in self._row_of:
            return
        for row in self._rows_of(doc_id):
            self._live.discard(row)
            self._later.discard(row)
            self._set_metadata(row, {})
        del self._row_of[doc_id]
        self._more.pop(doc_id, None)

    def _append(self, changes: Sequence[VectorChange]) -> None:
        vectors = [change.vectors for change in changes if change.vectors is not None]
        if not vectors:
            return
        self._rows.add(np.concatenate(vectors))
        for change, own in zip(changes, vectors, strict=True):
            self._add_row(change.id, change.metadata)
            for _ in own[1:]:
                self._add_later_row(change.id)

    def _add_row(self, doc_id: str, metadata: Metadata) -> None:
        """Assign the next row to the first passage of a document."""
        row = len(self._ids)
        self._ids.append(doc_id)
        self._metadata.append(metadata)
        self._row_of[doc_id] = row
        self._live.add(row)
        self._postings.add(row, metadata)

    def _add_later_row(self, doc_id: str) -> None:
        """Assign the next row to the next passage of the document that was added last."""
        row, first = len(self._ids), self._row_of[doc_id]
        self._ids.append(self._ids[first])
        self._metadata.append(self._metadata[first])
        self._more[doc_id] = row - first
        self._live.add(row)
        self._later.add(row)
        self._postings.add(row, self._metadata[first])

    def _to_hits(self, query: Floats, rows: Sequence[int]) -> list[Hit]:
        """Hits of the documents that have a row among `rows`, best first."""
        found: dict[str, Hit] = {}
        for row, score in sorted(zip(rows, self._scores(query, rows), strict=True), key=lambda each: -each[1]):
            doc_id = self._ids[row]
            if doc_id not in found:
                found[doc_id] = Hit(doc_id, score, [PassageHit(row - self._row_of[doc_id], score)])
        return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))

    def _with_passages(self, query: Floats, hit: Hit, count: int) -> Hit:
        """The hit with up to `count` of its passages."""
        if hit.id not in self._more:
            return hit
        scores = self._scores(query, self._rows_of(hit.id))
        best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))[:count]
        return Hit(hit.id, scores[best[0]], [PassageHit(number, scores[number]) for number in best])

    def _scores(self, query: Floats, rows: Sequence[int]) -> list[float]:
        scores = np.clip(self._rows.rows(rows).astype(np.float64) @ query.astype(np.float64), -1.0, 1.0)
        return list(map(float, scores))


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
