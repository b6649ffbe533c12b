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
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.device import ON_CPU, Device


class TorchFlat(DeviceRows):
    """Vectors in one float32 matrix on the GPU, and a product of the queries with all rows.

    Exact; rows that are not allowed are masked, so filters and deletions cost only the mask. On the CPU, `faiss_flat`
    is faster. A vector of d dimensions takes 4 d bytes of device memory, and up to three times as much while the matrix
    grows.
    """

    name: ClassVar[str] = "torch_flat"
    exact: ClassVar[bool] = True
    rounds: ClassVar[bool] = False
    suffix: ClassVar[str] = "npy"

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of device memory of a row of d numbers."""
        return 4 * dim

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the k allowed rows of largest product for each of (q, d) queries."""
        return list(self.nearest(queries, min(k, len(allowed)), self._masked(allowed)))

    def rounded(self, vectors: Floats) -> Floats:
        """The rows that would be stored for (n, d) vectors: themselves."""
        return vectors

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - suits any number
        """Whether an instance created for `count` rows would search better."""
        return False

    def save(self, file: Path) -> None:
        """Write all rows to `file`, in the format of `exact`."""
        with file.open("wb") as stream:
            np.save(stream, self.all(), allow_pickle=False)

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """Read a file that `save` wrote. Raises ValueError for any other file."""
        saved = Exact.load(file)
        matrix = saved.rows(range(len(saved)))
        rows = cls(matrix.shape[1], len(matrix), device)
        rows.add(matrix)
        return rows

    def _masked(self, allowed: BitMap) -> Booleans | None:
        """(rows,) True for rows that are not allowed; None if all are."""
        if len(allowed) == len(self):
            return None
        masked = np.ones(len(self), np.bool_)
        masked[row_numbers(allowed)] = False
        return masked
