"""A graph of near neighbours, walked from the top of its layers."""

from __future__ import annotations

from typing import Any, ClassVar

import faiss

from service.indexes.faiss_rows import FaissRows

M = 16
EF_CONSTRUCTION = 100
EF_SEARCH = 96


class FaissHnsw(FaissRows):
    """`faiss.IndexHNSWFlat`: approximate; fast to search, slow to build.

    Rows that a search may not return still lead the way through the graph. They take places among the candidates, so
    there are as many more of those as there are more rows than allowed ones.

    Source: malkov-yashunin-2018-hnsw, algorithms 1 and 5.
    """

    name: ClassVar[str] = "faiss_hnsw"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexHNSWFlat,)

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexHNSWFlat(dim, M, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = EF_CONSTRUCTION

    def _parameters(self, k: int, share: float, selector: Any) -> Any:
        candidates = min(len(self), round(max(EF_SEARCH, 2 * k) / share))
        return faiss.SearchParametersHNSW(efSearch=candidates, sel=selector)  # type: ignore[attr-defined]
