"""The documents nearest to a query, by an engine, or exhaustively where one may miss some."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.passage_rows import MORE_ROWS, PassageRows
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.indexes import ROUNDING, Hit, PassageHit, VectorReader, VectorRows
from semblance.service.threads import stop_if_left

# scanning these takes 6 ms of one core (384 dimensions); a graph of 100,000 rows takes as long at a filter of a tenth
SCANNED_ROWS = 10_000
SCAN_CHUNK = 4096  # rows in memory at a time: 6 MB at 384 dimensions

_Scored: TypeAlias = list[tuple[int, float]]  # rows with their scores


@runtime_checkable
class ThresholdRows(Protocol):
    """Rows of an engine that finds those above a threshold in less time than the nearest."""

    def search_above(self, queries: Floats, k: int, allowed: BitMap, least: float) -> list[Sequence[int]]:
        """Find up to k of the `allowed` rows for each of (q, d) queries, most similar first.

        Where fewer, all those whose product is `least` or more.
        """


class NearestDocuments:
    """Searches an engine for the documents that are nearest to queries.

    Scores are computed here from the vectors of the rows, so they depend neither on the engine nor on the other queries
    of the call (FAISS changes its arithmetic at 20 queries).

    An engine that rounds its rows finds more than the k nearest, which are scored by their vectors in the store. If a
    document was changed or deleted there since, its score may be that of its new text or of the rounded row: callers
    compare versions anyway.

    Args:
        rows: the engine.
        documents: of the rows.
        read: the vectors in the store; None scores by the rows, which are exact unless the engine rounds them.
    """

    def __init__(self, rows: VectorRows, documents: PassageRows, read: VectorReader | None) -> None:
        self._rows = rows
        self._documents = documents
        self._read = read if rows.rounds else None

    def search(
        self, queries: Floats, k: int, allowed: BitMap, passages: int, min_score: float = -math.inf
    ) -> list[list[Hit]]:
        """Find the k nearest documents of each query, ties in the order of ids.

        Those below `min_score` are left out. `allowed` holds rows of at least k documents.
        """
        directed = np.flatnonzero(queries.any(axis=1))
        hits = [[] if query.any() or min_score > 0 else self._first(k, allowed) for query in queries]
        if len(directed):
            for i, scored in zip(directed, self._nearest(queries[directed], k, allowed, min_score), strict=True):
                hits[i] = self._to_hits([each for each in scored if each[1] >= min_score])[:k]
        if passages == 1 or not self._documents.any_cut:
            return hits
        return [
            [self.with_passages(query, hit, passages) for hit in each]
            for query, each in zip(queries, hits, strict=True)
        ]

    def with_passages(self, query: Floats, hit: Hit, count: int) -> Hit:
        """The hit with up to `count` of its passages."""
        rows = self._documents.of(hit.id)
        if len(rows) == 1:
            return hit
        scores = self.scores(query, rows)
        best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))[:count]
        return Hit(hit.id, scores[best[0]], [PassageHit(number, scores[number]) for number in best])

    def has_vectors(self, rows: Sequence[int], vectors: Floats) -> bool:
        """Whether rows have these vectors, as the engine rounds them."""
        return len(rows) == len(vectors) and np.array_equal(self._rows.rows(rows), self._rows.rounded(vectors))

    def _first(self, k: int, allowed: BitMap) -> list[Hit]:
        """The hits of the zero vector, to which all documents are equal."""
        return [Hit(doc_id, 0.0, [PassageHit(0, 0.0)]) for doc_id in self._documents.first_ids(k, allowed)]

    def _nearest(self, queries: Floats, k: int, allowed: BitMap, min_score: float) -> Iterator[_Scored]:
        """The nearest rows of each query, of k documents and of all that tie with the last.

        Those below `min_score` may be missing.
        """
        count = min(rescored_rows(k) if self._rows.rounds else k + 1, len(allowed))
        if min_score > -math.inf and isinstance(self._rows, ThresholdRows):
            for query, rows in zip(
                queries, self._rows.search_above(queries, count, allowed, min_score - ROUNDING), strict=True
            ):
                if len(rows) < count:
                    yield list(zip(rows, self.scores(query, rows), strict=True))
                else:
                    yield self._with_ties(query, k, allowed, rows)
            return
        for query, rows in zip(queries, nearest_rows(self._rows, queries, count, allowed), strict=True):
            yield self._with_ties(query, k, allowed, rows)

    def _with_ties(self, query: Floats, k: int, allowed: BitMap, rows: Sequence[int]) -> _Scored:
        """Score rows of an engine, and further ones that may tie with the last of k documents."""
        scored = list(zip(rows, self.scores(query, rows), strict=True))
        while len(rows) < len(allowed) and not self._complete(query, k, scored, rows[-1]):
            stop_if_left()
            known, count = set(rows), min(MORE_ROWS * len(rows), len(allowed))
            [rows] = nearest_rows(self._rows, query[None], count, allowed)
            further = [row for row in rows if row not in known]
            scored = self._needed(scored, k) + list(zip(further, self.scores(query, further), strict=True))
        return scored

    def scores(self, query: Floats, rows: Sequence[int]) -> list[float]:
        """Scores of rows. They do not depend on the other rows, as those of a matrix product do."""
        chunks = (rows[start : start + SCAN_CHUNK] for start in range(0, len(rows), SCAN_CHUNK))
        return [score for chunk in chunks for score in _products(query, self.vectors(chunk))]

    def vectors(self, rows: Sequence[int]) -> Floats:
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

    def _to_hits(self, rows: _Scored) -> list[Hit]:
        """Hits of the documents that have a row among `rows`, best first."""
        found: dict[str, Hit] = {}
        for row, score in sorted(rows, key=lambda each: (-each[1], each[0])):
            doc_id = self._documents.document(row)
            if doc_id not in found:
                found[doc_id] = Hit(doc_id, score, [PassageHit(self._documents.number(row), score)])
        return sorted(found.values(), key=lambda hit: (-hit.score, hit.id))

    def _complete(self, query: Floats, k: int, scored: _Scored, last: int) -> bool:
        """Whether rows are of k documents, and all these and their ties precede the `last` row."""
        best = self._best_scores(scored)
        if len(best) < k:
            return False
        if not self._rows.rounds:
            return min(score for _, score in scored) < best[k - 1] - ROUNDING
        needed = [row for row, _ in self._needed(scored, k)]
        *rounded, least = _products(query, self._rows.rows([*needed, last]))  # equal vectors round to equal ones
        return least < min(rounded) - ROUNDING

    def _needed(self, scored: _Scored, k: int) -> _Scored:
        """The rows that the k best documents have or tie with."""
        best = self._best_scores(scored)
        return scored if len(best) < k else [each for each in scored if each[1] >= best[k - 1] - ROUNDING]

    def _best_scores(self, scored: _Scored) -> list[float]:
        """The score of each document, best first."""
        if not self._documents.any_cut:
            return sorted((score for _, score in scored), reverse=True)
        best: dict[int, float] = {}
        for row, score in scored:
            first = row - self._documents.number(row)
            best[first] = max(score, best.get(first, score))
        return sorted(best.values(), reverse=True)


def _products(query: Floats, vectors: Floats) -> list[float]:
    """Products of a unit vector with others, as far as a cosine can go."""
    products = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
    return list(map(float, np.clip(products, -1.0, 1.0)))


def rescored_rows(k: int) -> int:
    """Rows to score by their stored vectors, so that the k nearest are among them.

    Measured on sentence vectors rounded to a byte a number: benchmarks/speed/index_memory.py
    """
    return 2 * k + 10


def nearest_rows(rows: VectorRows, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
    """Find the k nearest allowed rows of each query; at least k rows are allowed."""
    if not rows.exact and len(allowed) <= SCANNED_ROWS:
        return _scan(rows, queries, k, allowed)
    nearest = rows.search(queries, k, allowed)
    short = [i for i, found in enumerate(nearest) if len(found) < k]
    if short:
        for i, found in zip(short, _scan(rows, queries[short], k, allowed), strict=True):
            nearest[i] = found
    return nearest


def _scan(rows: VectorRows, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
    """Find the k allowed rows of largest product for each of (q, d) queries, exhaustively."""
    import faiss  # noqa: PLC0415 - a slow import, and a service without documents needs none

    from semblance.service.indexes.faiss_rows import use_threads  # noqa: PLC0415 - likewise

    use_threads(1)
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
