"""Approximate search by FAISS in a hierarchical graph of near neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import faiss
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows

# measured on 100,000 sentence vectors, and on as many clustered ones: benchmarks/quality/index_recall.py
M = 16  # neighbors of a row: 128 bytes of links beside the 1,536 of its vector
EF_CONSTRUCTION = 100  # candidates during construction: one minute of one core for 100,000 rows
EF_SEARCH = 128  # candidates during a search: recall 0.96 on clustered vectors


class FaissHnsw(FaissRows):
    """`faiss.IndexHNSWFlat`: approximate; fast to search, slow to build.

    A filter is applied to the rows nearest to the query; the fewer rows it allows, the more are searched. If allowed
    rows are far from the query, fewer than k are returned, which tells the caller to scan. (A filter inside the graph
    search would return k rows then, but not the nearest.)

    Source: malkov-yashunin-2018-hnsw, algorithms 1 and 5.
    """

    name: ClassVar[str] = "faiss_hnsw"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexHNSWFlat,)

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers, and of its 2 M links, level and offset."""
        return 4 * dim + 4 * (2 * M + 3)

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find up to k allowed rows for each of (q, d) queries among the candidates."""
        candidates = min(len(self), round(max(EF_SEARCH, 2 * k) * len(self) / len(allowed)))
        parameters = faiss.SearchParametersHNSW(efSearch=candidates)  # type: ignore[attr-defined]
        nearest = self._nearest(queries, candidates, parameters)
        return [[row for row in rows.tolist() if row in allowed][:k] for rows in nearest]

    def _empty(self, dim: int) -> Any:
        graph = faiss.IndexHNSWFlat(dim, M, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = EF_CONSTRUCTION
        return graph
