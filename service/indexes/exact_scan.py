"""Looking at every allowed row: what an approximate engine is replaced by where it would miss some."""

from __future__ import annotations

from collections.abc import Sequence

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import use_one_thread
from semblance.service.indexes.row_numbers import numbers_of
from semblance.service.ports.indexes import VectorRows

# so many are scanned in 6 ms of one core (384 numbers each); a graph of 100,000 rows takes as long for that tenth of it
SCANNED_ROWS = 10_000
CHUNK = 4096  # rows held at a time: 6 MB of vectors of 384 numbers


def scan(rows: VectorRows, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
    """For each of (q, d) queries, the k allowed rows of largest product, most similar first."""
    use_one_thread()
    numbers = numbers_of(allowed)
    best = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(numbers), CHUNK):
        chunk = numbers[start : start + CHUNK]
        vectors = rows.rows(chunk.tolist())
        products, at = faiss.knn(queries, vectors, min(k, len(chunk)), metric=faiss.METRIC_INNER_PRODUCT)
        scores, best = np.hstack([scores, products]), np.hstack([best, chunk[at]])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, best = np.take_along_axis(scores, order, 1), np.take_along_axis(best, order, 1)
    return [row.tolist() for row in best]
