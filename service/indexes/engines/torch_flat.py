"""Exhaustive search on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.models.text import Booleans
from semblance.service.indexes.device_rows import DeviceRows
from semblance.service.indexes.engines.exact import Exact
from semblance.service.indexes.row_numbers import numbers_of
from semblance.service.ports.device import ON_CPU, Device


class TorchFlat(DeviceRows):
    """Vectors in one float32 matrix on the GPU: a product with all rows, and the best of it.

    Exact; what is not allowed is masked, so filters and deletions cost nothing but the mask. On the CPU,
    `faiss_flat` is faster. A vector of d dimensions takes 4 d bytes of the device's memory, and up to
    three times as much while the matrix grows.
    """

    name: ClassVar[str] = "torch_flat"
    exact: ClassVar[bool] = True
    suffix: ClassVar[str] = "npy"

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, the k allowed rows of largest product."""
        return list(self.nearest(queries, min(k, len(allowed)), self._masked(allowed)))

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - it suits any number
        """Whether one made for `count` rows would search better."""
        return False

    def save(self, file: Path) -> None:
        """Write all rows to `file`, as `exact` does."""
        with file.open("wb") as stream:
            np.save(stream, self.all(), allow_pickle=False)

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """What `save` wrote. Raises ValueError: it is something else."""
        saved = Exact.load(file)
        matrix = saved.rows(range(len(saved)))
        rows = cls(matrix.shape[1], len(matrix), device)
        rows.add(matrix)
        return rows

    def _masked(self, allowed: BitMap) -> Booleans | None:
        """(rows,) True where a row is not allowed; None if all are."""
        if len(allowed) == len(self):
            return None
        masked = np.ones(len(self), np.bool_)
        masked[numbers_of(allowed)] = False
        return masked
