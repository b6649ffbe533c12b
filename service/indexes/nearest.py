"""The nearest of some rows: by the engine, or exhaustively where an engine may miss some."""

from __future__ import annotations

from collections.abc import Sequence

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import use_threads
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.indexes import VectorRows

# scanning these takes 6 ms of one core (384 dimensions); a graph of 100,000 rows takes as long at a filter of a tenth
SCANNED_ROWS = 10_000
SCAN_CHUNK = 4096  # rows in memory at a time: 6 MB at 384 dimensions


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
