"""Exhaustive search by FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import faiss
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows, selector


class FaissFlat(FaissRows):
    """`faiss.IndexFlatIP`: exact, and faster than `exact` for many rows.

    Source: douze-etal-2024-faiss.
    """

    name: ClassVar[str] = "faiss_flat"
    exact: ClassVar[bool] = True
    kinds = (faiss.IndexFlatIP, faiss.IndexFlat)

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the k allowed rows of largest product for each of (q, d) queries."""
        parameters = faiss.SearchParameters(sel=selector(allowed, len(self)))  # type: ignore[call-arg]
        return [rows.tolist() for rows in self._nearest(queries, min(k, len(allowed)), parameters)]
