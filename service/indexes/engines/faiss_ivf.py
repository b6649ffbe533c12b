"""Rows in lists by their nearest centroid; a search looks into the lists nearest to the query."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows
from semblance.service.indexes.row_numbers import Numbers, numbers_of, others, selector

# measured on 100,000 sentence vectors and on 1,000,000 in clusters: benchmarks/quality/index_recall.py
LISTS_A_ROOT = 4  # lists for n rows, as a multiple of sqrt(n): then comparing with centroids costs as rows do
PROBES = 128  # lists that a search looks into
LEARNED_FROM = 39  # rows a list that centroids are learned from; FAISS warns below
LEAST_ROWS = 25_000  # fewer are not enough to learn from


class FaissIvf(FaissRows):
    """`faiss.IndexIVFFlat`: approximate; built in a fraction of the time that `faiss_hnsw` takes.

    A filter makes it look into more lists, until it has compared as many rows as without one: what the filter lets
    through may lie far from the query, while the nearest lists hold little or nothing of it.

    The centroids are learned once, from a sample of the first half of the rows that were expected from the start: until
    then these lie one after another, so that building takes no more memory than what is built. Nothing can be searched
    while it learns. Without centroids, search is exhaustive.

    Source: douze-etal-2024-faiss; sivic-zisserman-2003-video.
    """

    name: ClassVar[str] = "faiss_ivf"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexIVFFlat, faiss.IndexFlatIP, faiss.IndexFlat)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows, and learn the centroids once there are enough, if that was expected."""
        super().add(vectors)
        if not self._trained and self._expected >= LEAST_ROWS and len(self) >= _learned_at(self._expected):
            self._train()

    def outgrown(self, count: int) -> bool:
        """Whether one made for `count` rows would learn centroids, which this one lacks or has half as many of."""
        return lists_for(count) >= 2 * self._index.nlist if self._trained else count >= LEAST_ROWS

    @property
    def _trained(self) -> bool:
        return isinstance(self._index, faiss.IndexIVFFlat)

    def _train(self) -> None:
        rows = _stored(self._index)
        dim, count = rows.shape[1], lists_for(self._expected)
        lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, count, faiss.METRIC_INNER_PRODUCT)
        lists.set_direct_map_type(faiss.DirectMap.Array)  # type: ignore[attr-defined] # which list a row is in: `rows` asks
        sample = np.random.default_rng(0).choice(len(rows), LEARNED_FROM * count, replace=False)
        lists.train(rows[np.sort(sample)])
        lists.add(rows)
        self._index = lists

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, up to k allowed rows of largest product in the lists that it looked into."""
        only, k = selector(allowed, len(self)), min(k, len(allowed))
        if not self._trained:
            every = faiss.SearchParameters(sel=only)  # type: ignore[call-arg]
            return [rows.tolist() for rows in self._nearest(queries, k, every)]
        found: list[Sequence[int]] = []
        for query, probes in zip(queries, self._probes(queries, allowed), strict=True):
            parameters = faiss.SearchParametersIVF(nprobe=int(probes), sel=only)  # type: ignore[call-arg]
            found.append(self._nearest(query[None], k, parameters)[0].tolist())
        return found

    def _probes(self, queries: Floats, allowed: BitMap) -> Numbers:
        """(q,) into how many lists to look, so that as many allowed rows are compared as if all were allowed."""
        if len(allowed) == len(self):
            return np.full(len(queries), PROBES)
        nearest = np.argsort(queries @ -_stored(self._index.quantizer).T, axis=1)
        compared = np.cumsum(self._held(allowed)[nearest], axis=1)
        enough = min(len(allowed), len(self) * PROBES // self._index.nlist)
        needed: Numbers = 1 + np.argmax(compared >= enough, axis=1)
        return np.maximum(needed, PROBES)

    def _held(self, allowed: BitMap) -> Numbers:
        """(lists,) how many allowed rows each list holds."""
        lists: int = self._index.nlist
        places = faiss.rev_swig_ptr(self._index.direct_map.array.data(), len(self))
        if 2 * len(allowed) <= len(self):
            return np.bincount(places[numbers_of(allowed)] >> 32, minlength=lists)
        sizes = np.array([self._index.invlists.list_size(i) for i in range(lists)])
        return sizes - np.bincount(places[numbers_of(others(allowed, len(self)))] >> 32, minlength=lists)


def lists_for(rows: int) -> int:
    """How many lists suit so many rows.

    >>> lists_for(1_000_000)
    4000
    """
    return round(LISTS_A_ROOT * sqrt(rows))


def _learned_at(expected: int) -> int:
    """How many rows there must be before centroids for those expected are learned."""
    return max(expected // 2, LEARNED_FROM * lists_for(expected))


def _stored(flat: Any) -> Floats:
    """(n, d) the rows of a flat index, where they lie."""
    flat = faiss.downcast_index(flat)
    rows: Floats = faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d).reshape(flat.ntotal, flat.d)
    return rows
