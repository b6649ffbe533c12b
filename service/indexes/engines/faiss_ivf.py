"""Approximate search by FAISS in inverted lists: rows by nearest centroid."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows, complement, selector
from semblance.service.indexes.postings import RowNumbers, row_numbers

# measured on 100,000 sentence vectors and on 1,000,000 clustered ones: benchmarks/quality/index_recall.py
LISTS_PER_ROOT = 4  # lists / sqrt(rows): comparing with centroids then costs about as much as comparing with rows
PROBES = 128  # lists that a search compares
TRAINING_ROWS_PER_LIST = 39  # FAISS warns below
MIN_ROWS = 25_000  # fewer rows are searched exhaustively


class FaissIvf(FaissRows):
    """`faiss.IndexIVFFlat`: approximate; built in a fraction of the time of `faiss_hnsw`.

    With a filter, a search compares more lists, until it has compared as many rows as without one: the allowed rows may
    be far from the query, with few or none in the nearest lists.

    Centroids are trained once, from a sample of the first half of the expected rows. Until then the rows are a flat
    index, so that building takes no more memory than the result, and a search is exhaustive. No search can run during
    the training.

    Source: douze-etal-2024-faiss; sivic-zisserman-2003-video.
    """

    name: ClassVar[str] = "faiss_ivf"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexIVFFlat, faiss.IndexFlatIP, faiss.IndexFlat)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows; train the centroids once there are enough, if enough are expected."""
        super().add(vectors)
        if not self._trained and self._expected >= MIN_ROWS and len(self) >= _training_start(self._expected):
            self._train()

    def outgrown(self, count: int) -> bool:
        """Whether an instance for `count` rows would have twice as many centroids, or the first."""
        return lists_for(count) >= 2 * self._index.nlist if self._trained else count >= MIN_ROWS

    @property
    def _trained(self) -> bool:
        return isinstance(self._index, faiss.IndexIVFFlat)

    def _train(self) -> None:
        rows = _vectors_of(self._index)
        dim, count = rows.shape[1], lists_for(self._expected)
        lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, count, faiss.METRIC_INNER_PRODUCT)
        lists.set_direct_map_type(faiss.DirectMap.Array)  # type: ignore[attr-defined] # list of each row, which `rows` needs
        sample = np.random.default_rng(0).choice(len(rows), TRAINING_ROWS_PER_LIST * count, replace=False)
        lists.train(rows[np.sort(sample)])
        lists.add(rows)
        self._index = lists

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find up to k allowed rows for each of (q, d) queries in the nearest lists."""
        allowed_only, k = selector(allowed, len(self)), min(k, len(allowed))
        if not self._trained:
            exhaustive = faiss.SearchParameters(sel=allowed_only)  # type: ignore[call-arg]
            return [rows.tolist() for rows in self._nearest(queries, k, exhaustive)]
        nearest: list[Sequence[int]] = []
        for query, probes in zip(queries, self._probes(queries, allowed), strict=True):
            parameters = faiss.SearchParametersIVF(nprobe=int(probes), sel=allowed_only)  # type: ignore[call-arg]
            nearest.append(self._nearest(query[None], k, parameters)[0].tolist())
        return nearest

    def _probes(self, queries: Floats, allowed: BitMap) -> RowNumbers:
        """(q,) lists to compare, so that as many allowed rows are compared as without a filter."""
        if len(allowed) == len(self):
            return np.full(len(queries), PROBES)
        nearest = np.argsort(queries @ -_vectors_of(self._index.quantizer).T, axis=1)
        compared = np.cumsum(self._allowed_per_list(allowed)[nearest], axis=1)
        enough = min(len(allowed), len(self) * PROBES // self._index.nlist)
        needed: RowNumbers = 1 + np.argmax(compared >= enough, axis=1)
        return np.maximum(needed, PROBES)

    def _allowed_per_list(self, allowed: BitMap) -> RowNumbers:
        """(lists,) number of allowed rows in each list."""
        lists: int = self._index.nlist
        places = faiss.rev_swig_ptr(self._index.direct_map.array.data(), len(self))
        if 2 * len(allowed) <= len(self):
            return np.bincount(places[row_numbers(allowed)] >> 32, minlength=lists)
        sizes = np.array([self._index.invlists.list_size(i) for i in range(lists)])
        return sizes - np.bincount(places[row_numbers(complement(allowed, len(self)))] >> 32, minlength=lists)


def lists_for(rows: int) -> int:
    """Number of lists for a number of rows.

    >>> lists_for(1_000_000)
    4000
    """
    return round(LISTS_PER_ROOT * sqrt(rows))


def _training_start(expected: int) -> int:
    """Number of rows at which the centroids for the expected rows are trained."""
    return max(expected // 2, TRAINING_ROWS_PER_LIST * lists_for(expected))


def _vectors_of(flat: Any) -> Floats:
    """(n, d) view of the rows of a flat index."""
    flat = faiss.downcast_index(flat)
    rows: Floats = faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d).reshape(flat.ntotal, flat.d)
    return rows
