"""FAISS's exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence

import faiss
import numpy as np
from pyroaring import BitMap

from models.embeddings import Floats

faiss.omp_set_num_threads(1)  # its own thread pool would fight with torch's for the same cores


class FaissFlat:
    """`faiss.IndexFlatIP`: exact, and faster than `exact` for many rows.

    Source: douze-etal-2024-faiss.
    """

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexFlatIP(dim)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, the k allowed rows of largest product."""
        parameters = None
        if len(allowed) < len(self):
            # FAISS's type stubs describe the C++ constructors, not the Python ones that wrap them
            selector = faiss.IDSelectorBitmap(_bits(allowed, len(self)))  # type: ignore[call-arg, arg-type]
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        _, found = self._index.search(
            np.ascontiguousarray(queries, np.float32), min(k, len(allowed)), params=parameters
        )
        return [[int(row) for row in rows if row >= 0] for rows in found]

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""
        found: Floats = self._index.reconstruct_batch(np.asarray(numbers, np.int64))
        return found

    def __len__(self) -> int:
        return int(self._index.ntotal)


def _bits(allowed: BitMap, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """One bit a row, the lowest first, as FAISS reads them."""
    flags = np.zeros(count, np.bool_)
    flags[np.array(allowed, np.int64)] = True
    return np.packbits(flags, bitorder="little")
