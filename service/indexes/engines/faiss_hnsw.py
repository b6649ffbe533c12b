"""A graph of near neighbours, walked from the top of its layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import faiss
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows

# measured on 100,000 vectors of sentences, and on as many in clusters: benchmarks/quality/index_recall.py
M = 16  # neighbours of a row: 128 bytes of links beside the 1,536 of its vector
EF_CONSTRUCTION = 100  # a minute of one core for 100,000 rows; the time grows with it
EF_SEARCH = 128  # finds 96 of 100 that are nearest where they lie in clusters


class FaissHnsw(FaissRows):
    """`faiss.IndexHNSWFlat`: approximate; fast to search, slow to build.

    A filter is applied to the rows nearest to the query, the more of them the fewer rows are allowed. So it costs no
    recall, even if what it lets through lies far from the query: then too few are left, fewer than k are returned, and
    the caller knows. (Filtered inside the walk, k are found in such a case, but not the nearest.)

    Source: malkov-yashunin-2018-hnsw, algorithms 1 and 5.
    """

    name: ClassVar[str] = "faiss_hnsw"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexHNSWFlat,)

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, up to k allowed rows of largest product among those it came across."""
        candidates = min(len(self), round(max(EF_SEARCH, 2 * k) * len(self) / len(allowed)))
        parameters = faiss.SearchParametersHNSW(efSearch=candidates)  # type: ignore[attr-defined]
        found = self._nearest(queries, candidates, parameters)
        return [[row for row in rows.tolist() if row in allowed][:k] for rows in found]

    def _empty(self, dim: int) -> Any:
        graph = faiss.IndexHNSWFlat(dim, M, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = EF_CONSTRUCTION
        return graph
