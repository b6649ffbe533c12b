"""Exhaustive search by FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows, flat_rows, selector
from semblance.service.indexes.postings import row_numbers

BLOCK_ROWS = 4096  # of a product: with 64 queries, it takes 1 MB


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

    def search_above(self, queries: Floats, k: int, allowed: BitMap, least: float) -> list[Sequence[int]]:
        """As `search`, of rows whose product is `least` or more.

        By BLAS, in a fifth of the time if they are few.
        """
        vectors, most = flat_rows(self._index), k * len(queries)
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
        for start in range(0, len(vectors), BLOCK_ROWS):
            products = vectors[start : start + BLOCK_ROWS] @ queries.T
            rows, owners = np.nonzero(products >= least)
            found.append((rows + start, owners, products[rows, owners]))
            most -= len(rows)
            if most < 0:
                return [self.search(query[None], k, allowed)[0] for query in queries]  # FAISS is slower at 20 or more
        rows, owners, scores = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(allowed) < len(self):
            kept = np.isin(rows, row_numbers(allowed))
            rows, owners, scores = rows[kept], owners[kept], scores[kept]
        order = np.lexsort((-scores, owners))
        parts = np.split(rows[order], np.searchsorted(owners[order], np.arange(1, len(queries))))
        return [part[:k].tolist() for part in parts]
