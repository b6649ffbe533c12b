"""Approximate search by FAISS in inverted lists of rows with a byte a number."""

from __future__ import annotations

from math import cbrt, sqrt
from typing import Any, ClassVar

import faiss
import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.indexes.engines.faiss_ivf import PLACE_BYTES, FaissIvf

# measured on 300,000 and 1,000,000 sentence vectors: benchmarks/speed/index_memory.py
LISTS_PER_ROOT = 2  # lists / sqrt(rows): recall 0.990 at 1,000,000, 0.983 with 1 for as many rows compared
PROBES = 3.0  # lists that a search compares / lists^(2/3)
RANGE_ROWS = 10_000  # rows from which the range of each number is taken
MARGIN = 0.1  # of the range, added at both ends for later rows


class FaissIvfSq8(FaissIvf):
    """`faiss.IndexIVFScalarQuantizer`: as `faiss_ivf`, with vectors of a quarter of the size.

    Each number is rounded to one of 256 values between the least and the largest one that it has in the first 10,000
    rows, with a margin; rows before are kept as they are. The rounding moves cosines a little, so more than the k
    nearest rows are found, and scored by their vectors in the store. A filter makes a search compare fewer
    extra lists than in `faiss_ivf`, as more are compared without one.

    Source: douze-etal-2024-faiss.
    """

    name: ClassVar[str] = "faiss_ivf_sq8"
    rounds: ClassVar[bool] = True
    filter_exponent: ClassVar[float] = 0.5  # recall 0.996 of vectors far from the query; 0.989 with 0.25
    kinds = (faiss.IndexIVFScalarQuantizer, faiss.IndexScalarQuantizer, faiss.IndexFlatIP, faiss.IndexFlat)

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers, its number, and the place in its list."""
        return dim + PLACE_BYTES

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows; take the ranges, and train the centroids, once there are enough."""
        first = max(0, RANGE_ROWS - len(self))
        if not self._rounding and len(vectors) >= first:
            super().add(vectors[:first])
            self._round()
            vectors = vectors[first:]
        super().add(vectors)

    def rounded(self, vectors: Floats) -> Floats:
        """The rows that would be stored for (n, d) vectors."""
        if not self._rounding:
            return vectors
        codec = _empty_flat(self._index.d)
        codec.sq, codec.is_trained = self._index.sq, True
        rounded: Floats = codec.sa_decode(codec.sa_encode(np.ascontiguousarray(vectors, np.float32)))
        return rounded

    @property
    def _rounding(self) -> bool:
        return isinstance(self._index, faiss.IndexScalarQuantizer | faiss.IndexIVFScalarQuantizer)

    @property
    def _least_probes(self) -> int:
        return lists_compared(self._index.nlist)

    def _lists_for(self, rows: int) -> int:
        return round(LISTS_PER_ROOT * sqrt(rows))

    @property
    def _trained(self) -> bool:
        return isinstance(self._index, faiss.IndexIVFScalarQuantizer)

    def _round(self) -> None:
        rows = self._index.reconstruct_n(0, len(self))
        flat = _empty_flat(self._index.d)
        flat.sq.rangestat_arg = MARGIN
        flat.train(rows)
        flat.add(rows)
        self._index = flat

    def _trained_lists(self, sample: Floats, count: int) -> Any:
        dim = self._index.d
        centroids, kind = faiss.IndexFlatIP(dim), faiss.ScalarQuantizer.QT_8bit
        lists = faiss.IndexIVFScalarQuantizer(centroids, dim, count, kind, faiss.METRIC_INNER_PRODUCT, False)
        lists.train(sample)
        lists.sq = self._index.sq  # with the ranges of the rows so far, which are not rounded again
        return lists


def lists_compared(lists: int) -> int:
    """Lists that a search without a filter compares: three tenths of 1,000, a sixth of 6,000."""
    return round(PROBES * cbrt(lists) ** 2)


def _empty_flat(dim: int) -> Any:
    return faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
