"""Index of one collection: documents in rows of any engine, found by vectors and terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import Self

import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.models.measures.chunks import split_by_size
from semblance.service.filters import Filter
from semblance.service.indexes.bm25 import TextTerms
from semblance.service.indexes.columns.array_file import map_arrays, write_arrays
from semblance.service.indexes.engine_choice import suits
from semblance.service.indexes.fusion import fused_ranks
from semblance.service.indexes.nearest import nearest_rows
from semblance.service.indexes.passage_rows import MORE_ROWS, PassageRows
from semblance.service.indexes.shared_lock import SharedLock
from semblance.service.ports.documents import PassageKey, VectorChange, Version
from semblance.service.ports.indexes import (
    Counted,
    DocumentSelection,
    Hit,
    HybridHit,
    HybridHits,
    HybridPassage,
    HybridQuery,
    Listed,
    PassageHit,
    TermScore,
    VectorReader,
    VectorRows,
)
from semblance.service.request_warnings import RequestWarning

SPARE_ROWS = 1000  # dead rows that are always tolerated, in addition to as many as live ones
CHANGES_PER_LOCK = 256  # changes applied at a time: searches run in between
CHARS_PER_LOCK = 1 << 18  # of their texts: adding the terms of these takes 40 ms
MATCHED_DOCUMENTS = 10  # best ones by terms, of which one must have enough of the query
QUERIES_PER_LOCK = 64  # queries searched at a time: changes are applied in between


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """Summary of a saved index: version, engine, number of rows, and of documents (`count`)."""

    version: Version
    engine: str
    rows: int
    count: int


class CollectionIndex:
    """Index of documents in the rows of an engine, a row for each passage.

    Rows are only appended: a new vector takes a new row, and the old one leaves the bitmap of live rows. Filters and
    deletions thus become one bitmap of allowed rows, the same for every engine. Scores are computed here from the rows
    of the hits, so they depend neither on the engine nor on the other queries of the call (FAISS changes its arithmetic
    at 20 queries).

    An engine that rounds its rows finds more than the k nearest, which are scored by their vectors in the store. If a
    document was changed or deleted there since, its score may be that of its new text or of the rounded row: callers
    compare versions anyway.

    With an approximate engine, few allowed rows are scanned exhaustively instead, and so are all allowed rows for a
    query with fewer than k results: neither filters nor deletions cost recall.

    Args:
        rows: an empty engine.
        epoch: of the collection.
        index: setting of the collection: the name of an engine, or "auto".
        read: the vectors in the store; None scores by the rows, which are exact unless the engine rounds them.
    """

    def __init__(self, rows: VectorRows, epoch: str, index: str, read: VectorReader | None = None) -> None:
        self._rows = rows
        self._index = index
        self._read = read if rows.rounds else None
        self._version = Version(epoch, 0)
        self._lock = SharedLock()  # engines do not support searches during an addition
        self._documents = PassageRows()

    def __len__(self) -> int:
        return self._documents.documents

    @property
    def exact(self) -> bool:
        """Whether a search by vector finds the true nearest documents."""
        return self._rows.exact

    @property
    def rows(self) -> int:
        """Number of rows, one a passage, including those of replaced and deleted documents."""
        return len(self._documents)

    @property
    def needs_rebuild(self) -> bool:
        """Whether another engine or a larger one suits better, or too many rows are dead."""
        live = self._documents.live
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
        """Apply the latest state of some documents, each once. Must not run concurrently."""
        least = CHARS_PER_LOCK // CHANGES_PER_LOCK
        sizes = [max(least, sum(map(len, change.texts))) for change in changes]
        for part in split_by_size(sizes, CHARS_PER_LOCK):
            terms = {change.id: self._new_terms(change) for change in changes[part]}  # without the lock: it takes long
            with self._lock.writing():
                self._apply(changes[part], terms)

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

    def search_hybrid(self, query: HybridQuery, k: int, where: Filter | None, passages: int) -> HybridHits:
        """Find k matching documents by vectors and by terms, with the terms of each."""
        with self._lock.reading():
            by_terms = self._documents.best_by_terms(query.terms, k, where)
            terms = query.terms if self._enough_matched(query, by_terms) else ()
            by_vector = [] if query.terms_only else self._search(query.vector[None], k, where, passages)[0]
            near = {hit.id: hit for hit in by_vector}
            ranked = fused_ranks(list(near), list(by_terms) if terms else [])[:k]
            rows = [
                self._rows_to_score(query.vector, each.id, near.get(each.id), by_terms.get(each.id, ()), passages)
                for each in ranked
            ]
            flat = [row for each in rows for row in each]
            terms_of = self._documents.terms(terms, flat) if terms else repeat(None)
            numbers = map(self._documents.number, flat)
            scored = map(HybridPassage, numbers, self._scores(query.vector, flat), terms_of)
            hits = [
                HybridHit(each.id, each.vector_rank, each.term_rank, list(islice(scored, len(own))))
                for each, own in zip(ranked, rows, strict=True)
            ]
            return HybridHits(self._version, hits)

    def mismatches(self, where: Filter) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet."""
        with self._lock.reading():
            return self._documents.mismatches(where)

    def count(self, where: Filter | None, facets: Mapping[str, int], among: Sequence[str] | None = None) -> Counted:
        """Count the matching documents, and those that have the most frequent values of some fields."""
        with self._lock.reading():
            documents, found = self._documents.count_facets(where, facets, among)
            return Counted(self._version, documents, found, self._warnings(where))

    def select(self, selection: DocumentSelection) -> Listed:
        """Ids of matching documents, in order."""
        with self._lock.reading():
            return Listed(self._version, self._documents.select(selection), self._warnings(selection.where))

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (p, d) vectors of the passages by document id; missing documents are left out."""
        with self._lock.reading():
            rows = {doc_id: own for doc_id in ids if (own := self._documents.of(doc_id))}
            if not rows:
                return {}
            found = self._vectors([row for each in rows.values() for row in each])
            ends = np.cumsum([len(each) for each in rows.values()])
            return dict(zip(rows, np.split(found, ends[:-1]), strict=True))

    def differing(self, changes: Sequence[VectorChange]) -> list[str]:
        """Ids of the documents that are not as some changes left them, by their vectors."""
        with self._lock.reading():
            return [change.id for change in changes if not self._has_vectors(change)]

    def terms_of(self, terms: Sequence[str], passages: Sequence[PassageKey]) -> dict[PassageKey, Sequence[TermScore]]:
        """Get the terms of a query that each passage has; missing passages are left out."""
        with self._lock.reading():
            rows = {key: row for key in passages if (row := self._documents.row(*key)) is not None}
            return dict(zip(rows, self._documents.terms(terms, list(rows.values())), strict=True))

    def save(self, vectors: Path, documents: Path, terms: Path) -> SavedIndex:
        """Write the engine's rows, their documents and their terms to a file each."""
        with self._lock.reading():
            self._rows.save(vectors)
            write_arrays(documents, self._documents.pieces())
            write_arrays(terms, self._documents.term_pieces())
            return SavedIndex(self._version, self._rows.name, self.rows, len(self))

    def adopt(self, documents: Path, terms: Path) -> None:
        """Read what is seldom read from the files that were just saved, not from memory.

        Must not run concurrently with a change. Raises OSError.
        """
        arrays = map_arrays(documents), map_arrays(terms)
        with self._lock.writing():
            self._documents.adopt(*arrays)

    @classmethod
    def load(
        cls, rows: VectorRows, documents: Path, terms: Path, version: Version, index: str, read: VectorReader | None
    ) -> Self:
        """Inverse of `save`, from the engine with its rows, and two of the files.

        Raises:
            OSError, ValueError, KeyError: the files are damaged, or do not match.
        """
        loaded = cls(rows, version.epoch, index, read)
        loaded._documents = PassageRows.of_arrays(map_arrays(documents), map_arrays(terms))
        if len(loaded._documents) != len(rows):
            raise ValueError(f"{len(rows)} rows do not match {len(loaded._documents)} of documents")
        loaded.advance(version)
        return loaded

    def _warnings(self, where: Filter | None) -> Sequence[RequestWarning]:
        return [] if where is None else self._documents.mismatches(where)

    def _search(self, queries: Floats, k: int, where: Filter | None, passages: int) -> list[list[Hit]]:
        allowed = self._documents.allowed(where)
        wanted = min(k, self._documents.count(allowed))
        if not wanted:
            return [[] for _ in queries]
        nearest = self._nearest_rows(queries, wanted, allowed)
        hits = [self._to_hits(query, rows)[:wanted] for query, rows in zip(queries, nearest, strict=True)]
        if passages == 1:
            return hits
        return [
            [self._with_passages(query, hit, passages) for hit in each]
            for query, each in zip(queries, hits, strict=True)
        ]

    def _nearest_rows(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the nearest rows for each query, of k documents at least; as many match."""
        count = min(len(allowed), rescored_rows(k)) if self._rows.rounds else k
        nearest = nearest_rows(self._rows, queries, count, allowed)
        short = range(len(queries)) if self._documents.any_cut else []
        while count < len(allowed) and (short := [i for i in short if self._documents.count_any(nearest[i]) < k]):
            count = min(MORE_ROWS * count, len(allowed))
            for i, rows in zip(short, nearest_rows(self._rows, queries[short], count, allowed), strict=True):
                nearest[i] = rows
        return nearest

    def _enough_matched(self, query: HybridQuery, by_terms: Mapping[str, Sequence[int]]) -> bool:
        """Whether one of the best documents by terms has enough of the query."""
        if query.min_share == 0.0 or not by_terms:
            return query.min_share == 0.0
        rows = [own[0] for own in islice(by_terms.values(), MATCHED_DOCUMENTS)]
        return self._documents.matched_share(query.terms, rows) >= query.min_share

    def _rows_to_score(
        self, query: Floats, doc_id: str, near: Hit | None, by_terms: Sequence[int], passages: int
    ) -> list[int]:
        """The nearest rows of a document, and its best ones by terms."""
        rows = self._documents.of(doc_id)
        if len(rows) == 1:
            return list(rows)
        hit = near or self._with_passages(query, Hit(doc_id, 0.0, []), passages)
        return list(dict.fromkeys([rows[each.number] for each in hit.passages] + list(by_terms[:passages])))

    def _new_terms(self, change: VectorChange) -> list[TextTerms] | None:
        """Terms of the passages of a document, none if it was deleted.

        None if the index has these passages, with their vectors.
        """
        if change.vectors is None:
            return []
        return None if self._has(change) else [TextTerms.of(text) for text in _texts(change)]

    def _apply(self, changes: Sequence[VectorChange], terms: Mapping[str, Sequence[TextTerms] | None]) -> None:
        added: list[tuple[VectorChange, Sequence[TextTerms]]] = []
        for change in changes:
            own = terms[change.id]
            if own is None:
                self._documents.set_metadata(change.id, change.metadata)
                continue
            self._documents.remove(change.id)
            if change.vectors is not None:
                added.append((change, own))
        if added:
            self._rows.add(np.concatenate([change.vectors for change, _ in added if change.vectors is not None]))
        for change, own in added:
            self._documents.add(change.id, change.metadata, own)

    def _has(self, change: VectorChange) -> bool:
        """Whether a document has these passages, by texts and vectors."""
        return self._documents.has(change.id, _texts(change)) and self._has_vectors(change)

    def _has_vectors(self, change: VectorChange) -> bool:
        """Whether a document has these vectors, as the engine rounds them; none if it was deleted."""
        rows = self._documents.of(change.id)
        if change.vectors is None or len(rows) != len(change.vectors):
            return change.vectors is None and not rows
        return np.array_equal(self._rows.rows(rows), self._rows.rounded(change.vectors))

    def _to_hits(self, query: Floats, rows: Sequence[int]) -> list[Hit]:
        """Hits of the documents that have a row among `rows`, best first."""
        found: dict[str, Hit] = {}
        for row, score in sorted(zip(rows, self._scores(query, rows), strict=True), key=lambda each: -each[1]):
            doc_id = self._documents.document(row)
            if doc_id not in found:
                found[doc_id] = Hit(doc_id, score, [PassageHit(self._documents.number(row), score)])
        return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))

    def _with_passages(self, query: Floats, hit: Hit, count: int) -> Hit:
        """The hit with up to `count` of its passages."""
        rows = self._documents.of(hit.id)
        if len(rows) == 1:
            return hit
        scores = self._scores(query, rows)
        best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))[:count]
        return Hit(hit.id, scores[best[0]], [PassageHit(number, scores[number]) for number in best])

    def _scores(self, query: Floats, rows: Sequence[int]) -> list[float]:
        """Scores of rows. They do not depend on the other rows, as those of a matrix product do."""
        vectors = self._vectors(rows).astype(np.float64)
        products = np.einsum("ij,j->i", vectors, query.astype(np.float64))
        return list(map(float, np.clip(products, -1.0, 1.0)))

    def _vectors(self, rows: Sequence[int]) -> Floats:
        """(n, d) vectors of rows, those in the store if the engine rounds them."""
        vectors = self._rows.rows(rows)
        if self._read is None or not len(rows):
            return vectors
        documents = [self._documents.document(row) for row in rows]
        stored = self._read(list(set(documents)))
        for at, (row, doc_id) in enumerate(zip(rows, documents, strict=True)):
            own, number = stored.get(doc_id), self._documents.number(row)
            if own is not None and number < len(own):
                vectors[at] = own[number]
        return vectors


def rescored_rows(k: int) -> int:
    """Rows to score by their stored vectors, so that the k nearest are among them.

    Measured on sentence vectors rounded to a byte a number: benchmarks/speed/index_memory.py
    """
    return 2 * k + 10


def _texts(change: VectorChange) -> Sequence[str]:
    """A text for each passage; a source of vectors alone has none."""
    return change.texts or [""] * len(change.vectors if change.vectors is not None else ())
