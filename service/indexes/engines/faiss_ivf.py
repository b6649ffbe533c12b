"""Rows in lists by their nearest centroid; a search looks into the lists nearest to the query."""

from __future__ import annotations

from typing import Any, ClassVar

import faiss
import numpy as np

from models.embeddings import Floats
from service.indexes.faiss_rows import FaissRows

LISTS = 1024
TRAINED_AT = 64 * LISTS
PROBES = 64


class FaissIvf(FaissRows):
    """`faiss.IndexIVFFlat`: approximate; built in a fraction of the time that `faiss_hnsw` takes.

    The centroids are learned once, from the first `TRAINED_AT` rows; as long as there are fewer, search is exhaustive.

    Source: douze-etal-2024-faiss, section 5.1; sivic-zisserman-2003-video.
    """

    name: ClassVar[str] = "faiss_ivf"
    exact: ClassVar[bool] = False
    kinds = (faiss.IndexIVFFlat, faiss.IndexFlatIP, faiss.IndexFlat)

    def __init__(self, dim: int) -> None:
        self._index = faiss.IndexFlatIP(dim)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows, and learn the centroids once there are enough."""
        super().add(vectors)
        if not self._trained and len(self) >= TRAINED_AT:
            self._train()

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

    def _parameters(self, k: int, share: float, selector: Any) -> Any:  # noqa: ARG002 - lists are as long for any k
        if not self._trained:
            return faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        probes = min(LISTS, int(np.ceil(PROBES / share)))
        return faiss.SearchParametersIVF(nprobe=probes, sel=selector)  # type: ignore[call-arg]
