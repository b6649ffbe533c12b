"""Rows in lists by their nearest centroid; a search looks into the lists nearest to the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import faiss
import numpy as np
from pyroaring import BitMap

from models.embeddings import Floats
from service.indexes.faiss_rows import FaissRows, Numbers, selector

# measured on 100,000 sentence vectors: benchmarks/index_recall.py
LISTS = 1024  # about 500 rows each where "auto" begins to use lists, and a query is compared with 1024 centroids only
TRAINED_AT = 64 * LISTS  # FAISS warns below 39 rows a centroid
PROBES = 128  # 96 find 96 of 100 that are nearest, 32 find 91


class FaissIvf(FaissRows):
    """`faiss.IndexIVFFlat`: approximate; built in a fraction of the time that `faiss_hnsw` takes.

    A filter makes it look into more lists, until it has compared as many rows as without one: what the filter lets
    through may lie far from the query, while the nearest lists hold little or nothing of it.

    The centroids are learned once, from the first `TRAINED_AT` rows, and only if so many were expected from the start:
    it takes a quarter of a minute, in which nothing can be searched. Without them, search is exhaustive.

    Source: douze-etal-2024-faiss; sivic-zisserman-2003-video.
    """

    name: ClassVar[str] = "faiss_ivf"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexIVFFlat, faiss.IndexFlatIP, faiss.IndexFlat)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows, and learn the centroids once there are enough, if that was expected."""
        super().add(vectors)
        if min(self._expected, len(self)) >= TRAINED_AT and not self._trained:
            self._train()

    def outgrown(self, count: int) -> bool:
        """Whether one made for `count` rows would learn centroids, which this one lacks."""
        return count >= TRAINED_AT and not self._trained

    @property
    def _trained(self) -> bool:
        return isinstance(self._index, faiss.IndexIVFFlat)

    def _train(self) -> None:
        rows = self._index.reconstruct_n(0, len(self))
        lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(rows.shape[1]), rows.shape[1], LISTS, faiss.METRIC_INNER_PRODUCT)
        lists.set_direct_map_type(faiss.DirectMap.Array)  # type: ignore[attr-defined] # which list a row is in: `rows` asks
        lists.train(rows)
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
        places = faiss.rev_swig_ptr(self._index.direct_map.array.data(), len(self))
        held = np.bincount(places[np.array(allowed, np.int64)] >> 32, minlength=LISTS)  # allowed rows in each list
        _, nearest = self._index.quantizer.search(np.ascontiguousarray(queries, np.float32), LISTS)
        compared = np.cumsum(held[nearest], axis=1)
        enough = min(len(allowed), len(self) * PROBES // LISTS)
        needed: Numbers = 1 + np.argmax(compared >= enough, axis=1)
        return np.maximum(needed, PROBES)
