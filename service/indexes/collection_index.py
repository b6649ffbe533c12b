"""The index of one collection: documents under row numbers, whatever engine searches the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.indexes.choice import suits
from semblance.service.indexes.exact_scan import SCANNED_ROWS, scan
from semblance.service.indexes.postings import Postings
from semblance.service.indexes.shared_lock import SharedLock
from semblance.service.ports.documents import Change, Metadata, Version
from semblance.service.ports.indexes import Hit, VectorRows

SPARE_ROWS = 1000  # rows of replaced and deleted documents that are kept in any case, beside as many as live ones
PIECE = 256  # changes applied at a time: searches get their turn between pieces
QUERIES = 64  # queries searched at a time: changes get their turn in between


@dataclass(frozen=True, slots=True)
class Saved:
    """What `CollectionIndex.save` wrote: an engine's rows, and how many of them are alive, at which version."""

    version: Version
    engine: str
    rows: int
    count: int


class CollectionIndex:
    """Rows only ever grow: a new vector takes a new row, and the old one is left out of the bitmap of live rows.

    Filters and deletions are thus one bitmap, built here from metadata and handed to the engine, the same for all.
    The score of a hit is computed here from its row, so it depends neither on the engine nor on the other queries of
    the call (FAISS changes its arithmetic at 20 queries).

    Where the engine is approximate, few allowed rows are scanned instead, and so are those of a query that it found
    fewer than k for: neither a filter nor deletions cost recall.

    Args:
        rows: the engine, empty.
        epoch: the life of the collection.
        index: the collection's setting: the name of an engine, or "auto".
    """

    def __init__(self, rows: VectorRows, epoch: str, index: str) -> None:
        self._rows = rows
        self._index = index
        self._version = Version(epoch, 0)
        self._lock = SharedLock()  # the engines allow no search during an addition
        self._ids: list[str] = []
        self._metadata: list[Metadata] = []
        self._row_of: dict[str, int] = {}
        self._live = BitMap()
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._live)

    @property
    def rows(self) -> int:
        """Rows it takes, those of replaced and deleted documents included."""
        return len(self._ids)

    @property
    def outgrown(self) -> bool:
        """Whether it should be built anew: another engine suits so many documents, or too many rows are dead.

        Or the engine was made for fewer.
        """
        wasteful = self.rows > 2 * len(self) + SPARE_ROWS
        return wasteful or self._rows.outgrown(len(self)) or not suits(self._rows.name, self._index, len(self))

    @property
    def version(self) -> Version:
        """The state of the store that it has seen completely."""
        return self._version

    def advance(self, version: Version) -> None:
        """Note that every change up to `version` was applied."""
        self._version = version

    def apply(self, changes: Sequence[Change]) -> None:
        """Take over the latest state of some documents."""
        for start in range(0, len(changes), PIECE):
            with self._lock.writing():
                self._apply(changes[start : start + PIECE])

    def search(self, queries: Floats, k: int, where: Filter | None) -> tuple[Version, list[list[Hit]]]:
        """The k most similar matching documents of each of (q, d) unit queries.

        Of many queries, later ones may see later changes. The version is that of the first, so whoever compares it with
        the documents' own hears of these changes.
        """
        version = self._version
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES):
            with self._lock.reading():
                hits += self._search(queries[start : start + QUERIES], k, where)
        return version, hits

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """(d,) vectors of those documents that it holds, by id."""
        with self._lock.reading():
            held = [doc_id for doc_id in ids if doc_id in self._row_of]
            if not held:
                return {}
            return dict(zip(held, self._rows.rows([self._row_of[doc_id] for doc_id in held]), strict=True))

    def save(self, vectors: Path, documents: Path) -> Saved:
        """Write what it holds to two files: the engine's rows, and a line of JSON about each. Searches go on."""
        with self._lock.reading():
            self._rows.save(vectors)
            with documents.open("w", encoding="utf-8") as stream:
                for row, (doc_id, metadata) in enumerate(zip(self._ids, self._metadata, strict=True)):
                    stream.write(json.dumps([doc_id, dict(metadata)] if row in self._live else None) + "\n")
            return Saved(self._version, self._rows.name, self.rows, len(self))

    @classmethod
    def restore(cls, rows: VectorRows, index: str, version: Version, lines: Iterable[str]) -> Self:
        """The inverse of `save`, from the engine with its rows and the lines about them.

        Raises:
            ValueError: rows and lines do not belong together.
        """
        restored = cls(rows, version.epoch, index)
        for line in lines:
            entry = json.loads(line)
            if entry is None:
                restored._ids.append("")
                restored._metadata.append({})
            else:
                restored._enter(*entry)
        if len(restored._ids) != len(rows) or len(restored._row_of) != len(restored._live):
            raise ValueError(f"{len(rows)} rows, but lines for {len(restored._ids)}")
        restored.advance(version)
        return restored

    def _search(self, queries: Floats, k: int, where: Filter | None) -> list[list[Hit]]:
        allowed = self._live if where is None else self._live & self._postings.matching(where)
        if not allowed:
            return [[] for _ in queries]
        found = self._nearest(queries, min(k, len(allowed)), allowed)
        return [self._hits(query, rows) for query, rows in zip(queries, found, strict=True)]

    def _nearest(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """The k nearest allowed rows of each query, of which there are at least k."""
        if not self._rows.exact and len(allowed) <= SCANNED_ROWS:
            return scan(self._rows, queries, k, allowed)
        found = self._rows.search(queries, k, allowed)
        short = [i for i, rows in enumerate(found) if len(rows) < k]
        if short:
            for i, rows in zip(short, scan(self._rows, queries[short], k, allowed), strict=True):
                found[i] = rows
        return found

    def _apply(self, changes: Sequence[Change]) -> None:
        added: list[Change] = []
        for change in changes:
            if change.vector is not None and self._holds(change.id, change.vector):
                self._relabel(self._row_of[change.id], change.metadata)
                continue
            self._bury(change.id)
            if change.vector is not None:
                added.append(change)
        self._append(added)

    def _holds(self, doc_id: str, vector: Floats) -> bool:
        row = self._row_of.get(doc_id)
        return row is not None and np.array_equal(self._rows.rows([row])[0], vector)

    def _relabel(self, row: int, metadata: Metadata) -> None:
        self._postings.remove(row, self._metadata[row])
        self._postings.add(row, metadata)
        self._metadata[row] = metadata

    def _bury(self, doc_id: str) -> None:
        row = self._row_of.pop(doc_id, None)
        if row is not None:
            self._live.discard(row)
            self._relabel(row, {})

    def _append(self, changes: Sequence[Change]) -> None:
        vectors = [change.vector for change in changes if change.vector is not None]
        if not vectors:
            return
        self._rows.add(np.stack(vectors))
        for change in changes:
            self._enter(change.id, change.metadata)

    def _enter(self, doc_id: str, metadata: Metadata) -> None:
        """The next row is this document's."""
        row = len(self._ids)
        self._ids.append(doc_id)
        self._metadata.append(metadata)
        self._row_of[doc_id] = row
        self._live.add(row)
        self._postings.add(row, metadata)

    def _hits(self, query: Floats, rows: Sequence[int]) -> list[Hit]:
        scores = np.clip(self._rows.rows(rows).astype(np.float64) @ query.astype(np.float64), -1.0, 1.0)
        hits = [Hit(self._ids[row], float(score)) for row, score in zip(rows, scores, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))
