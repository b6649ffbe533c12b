"""Approximate search by FAISS in inverted lists: rows by nearest centroid."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.faiss_rows import FaissRows, flat_rows, selector
from semblance.service.indexes.postings import RowNumbers, row_numbers

# measured on 100,000 sentence vectors and on 1,000,000 clustered ones: benchmarks/quality/index_recall.py
LISTS_PER_ROOT = 4  # lists / sqrt(rows): comparing with centroids then costs about as much as comparing with rows
PROBES = 128  # lists that a search compares
TRAINING_ROWS_PER_LIST = 39  # FAISS warns below
PLACE_BYTES = 16  # number of a row in its list, and list and place of a row
MOVED_ROWS = 50_000  # moved to the lists at a time
MIN_ROWS = 25_000  # fewer rows are searched exhaustively
ROWS_PER_THREAD = 50_000  # compared by each thread of a search at least, which takes milliseconds
ACROSS_LISTS = 1  # `parallel_mode` in which FAISS divides the lists of a query among threads, not queries
COUNTED_ROWS = 200_000  # most allowed rows whose lists are counted; of more, some stand for the others


class FaissIvf(FaissRows):
    """`faiss.IndexIVFFlat`: approximate; built in a fraction of the time of `faiss_hnsw`.

    With a filter, a search compares more lists, until it has compared as many rows as without one: the allowed rows may
    be far from the query, with few or none in the nearest lists.

    The lists of one query are compared on several cores, if they have many rows.

    Centroids are trained once, from a sample of the first half of the expected rows. Until then the rows are a flat
    index, so that building takes no more memory than the result, and a search is exhaustive. No search can run during
    the training.

    Source: douze-etal-2024-faiss; sivic-zisserman-2003-video.
    """

    name: ClassVar[str] = "faiss_ivf"
    exact: ClassVar[bool] = False
    filter_exponent: ClassVar[float] = 1.0  # a filter for a share s of the rows compares s^-exponent as many
    kinds: ClassVar[tuple[type[Any], ...]] = (faiss.IndexIVFFlat, faiss.IndexFlatIP, faiss.IndexFlat)

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers, its number, and the place in its list."""
        return 4 * dim + PLACE_BYTES

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows; train the centroids once there are enough, if enough are expected."""
        super().add(vectors)
        if not self._trained and self._expected >= MIN_ROWS and len(self) >= self._training_start():
            self._train()

    def outgrown(self, count: int) -> bool:
        """Whether an instance for `count` rows would have twice as many centroids, or the first."""
        return self._lists_for(count) >= 2 * self._index.nlist if self._trained else count >= MIN_ROWS

    @property
    def _least_probes(self) -> int:
        """Lists that a search without a filter compares."""
        return PROBES

    def _lists_for(self, rows: int) -> int:
        """Number of lists for a number of rows."""
        return round(LISTS_PER_ROOT * sqrt(rows))

    @property
    def _trained(self) -> bool:
        return isinstance(self._index, faiss.IndexIVFFlat)

    def _train(self) -> None:
        count, former = self._lists_for(self._expected), self._index
        sample = np.random.default_rng(0).choice(len(self), TRAINING_ROWS_PER_LIST * count, replace=False)
        lists = self._trained_lists(self.rows(np.sort(sample)), count)
        lists.set_direct_map_type(faiss.DirectMap.Array)  # type: ignore[attr-defined] # list of each row, which `rows` needs
        for start in range(0, len(self), MOVED_ROWS):
            lists.add(former.reconstruct_n(start, min(MOVED_ROWS, len(self) - start)))
        self._index = lists

    def _trained_lists(self, sample: Floats, count: int) -> Any:
        dim = self._index.d
        lists = faiss.IndexIVFFlat(faiss.IndexFlatIP(dim), dim, count, faiss.METRIC_INNER_PRODUCT)
        lists.train(sample)
        return lists

    def _training_start(self) -> int:
        """Number of rows at which the centroids for the expected rows are trained."""
        return max(self._expected // 2, TRAINING_ROWS_PER_LIST * self._lists_for(self._expected))

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find up to k allowed rows for each of (q, d) queries in the nearest lists."""
        allowed_only, k = selector(allowed, len(self)), min(k, len(allowed))
        if not self._trained:
            exhaustive = faiss.SearchParameters(sel=allowed_only)  # type: ignore[call-arg]
            return [rows.tolist() for rows in self._nearest(queries, k, exhaustive)]
        self._index.parallel_mode = ACROSS_LISTS  # which its file does not have
        nearest: list[Sequence[int]] = []
        for query, probes in zip(queries, self._probes(queries, allowed), strict=True):
            parameters = faiss.SearchParametersIVF(nprobe=int(probes), sel=allowed_only)  # type: ignore[call-arg]
            nearest.append(self._nearest(query[None], k, parameters, self._threads(int(probes)))[0].tolist())
        return nearest

    def _threads(self, probes: int) -> int:
        """Threads that compare this many lists."""
        compared: int = probes * len(self) // self._index.nlist
        return min(self._cores, 1 + compared // ROWS_PER_THREAD)

    def _probes(self, queries: Floats, allowed: BitMap) -> RowNumbers:
        """(q,) lists to compare, so that a filter costs no recall."""
        if len(allowed) == len(self):
            return np.full(len(queries), self._least_probes)
        nearest = np.argsort(queries @ -flat_rows(self._index.quantizer).T, axis=1)
        compared = np.cumsum(self._allowed_per_list(allowed)[nearest], axis=1)
        share = len(allowed) / len(self)
        unfiltered = len(self) * self._least_probes / self._index.nlist
        enough = min(len(allowed), unfiltered * share ** (1 - self.filter_exponent))
        needed: RowNumbers = 1 + np.argmax(compared >= enough, axis=1)
        return np.maximum(needed, self._least_probes)

    def _allowed_per_list(self, allowed: BitMap) -> RowNumbers:
        """(lists,) number of allowed rows in each list; of very many, a regular sample is counted."""
        step = 1 + len(allowed) // COUNTED_ROWS
        places = faiss.rev_swig_ptr(self._index.direct_map.array.data(), len(self))
        counted = row_numbers(allowed[::step])
        return step * np.bincount(places[counted] >> 32, minlength=self._index.nlist)
