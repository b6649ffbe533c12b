"""The index of one collection: documents under row numbers, whatever engine searches the rows."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from pyroaring import BitMap

from models.embeddings import Floats
from service.filters import Filter
from service.indexes.postings import Postings
from service.ports import Change, Hit, Metadata, VectorRows, Version


class CollectionIndex:
    """Rows only ever grow: a new vector takes a new row, and the old one is left out of the bitmap of live rows.

    Filters and deletions are thus one bitmap, built here from metadata and handed to the engine, the same for all.
    The score of a hit is computed here from its row, so it depends neither on the engine nor on the other queries of
    the call (FAISS changes its arithmetic at 20 queries).
    """

    def __init__(self, rows: VectorRows, epoch: str) -> None:
        self._rows = rows
        self._version = Version(epoch, 0)
        self._lock = threading.Lock()  # the engines allow no search during an addition
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
    def version(self) -> Version:
        """The state of the store that it has seen completely."""
        return self._version

    def advance(self, version: Version) -> None:
        """Note that every change up to `version` was applied."""
        self._version = version

    def apply(self, changes: Sequence[Change]) -> None:
        """Take over the latest state of some documents."""
        with self._lock:
            added: list[Change] = []
            for change in changes:
                if change.vector is not None and self._holds(change.id, change.vector):
                    self._relabel(self._row_of[change.id], change.metadata)
                    continue
                self._bury(change.id)
                if change.vector is not None:
                    added.append(change)
            self._append(added)

    def search(self, queries: Floats, k: int, where: Filter | None) -> tuple[Version, list[list[Hit]]]:
        """The version searched, and the k most similar matching documents of each of (q, d) unit queries."""
        with self._lock:
            allowed = self._live if where is None else self._live & self._postings.matching(where)
            if not allowed:
                return self._version, [[] for _ in queries]
            found = self._rows.search(queries, min(k, len(allowed)), allowed)
            return self._version, [self._hits(query, rows) for query, rows in zip(queries, found, strict=True)]

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """(d,) vectors of those documents that it holds, by id."""
        with self._lock:
            held = [doc_id for doc_id in ids if doc_id in self._row_of]
            if not held:
                return {}
            return dict(zip(held, self._rows.rows([self._row_of[doc_id] for doc_id in held]), strict=True))

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
        first = len(self._ids)
        self._rows.add(np.stack(vectors))
        for row, change in enumerate(changes, first):
            self._ids.append(change.id)
            self._metadata.append(change.metadata)
            self._row_of[change.id] = row
            self._live.add(row)
            self._postings.add(row, change.metadata)

    def _hits(self, query: Floats, rows: Sequence[int]) -> list[Hit]:
        scores = np.clip(self._rows.rows(rows).astype(np.float64) @ query.astype(np.float64), -1.0, 1.0)
        hits = [Hit(self._ids[row], float(score)) for row, score in zip(rows, scores, strict=True)]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))
