"""FAISS's exhaustive search."""

from __future__ import annotations

from typing import Any, ClassVar

import faiss

from service.indexes.faiss_rows import FaissRows


class FaissFlat(FaissRows):
    """`faiss.IndexFlatIP`: exact, and faster than `exact` for many rows.

    Source: douze-etal-2024-faiss.
    """

    name: ClassVar[str] = "faiss_flat"
    exact: ClassVar[bool] = True
    kinds = (faiss.IndexFlatIP, faiss.IndexFlat)

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexFlatIP(dim)

    def _parameters(self, k: int, share: float, selector: Any) -> Any:  # noqa: ARG002 - all rows are looked at
        return faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
