"""Exhaustive search in NumPy: the oracle that other engines are tested against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.device import ON_CPU, Device


class Exact:
    """Vectors in one NumPy matrix that doubles when full. Suitable up to some ten thousand rows."""

    name: ClassVar[str] = "exact"
    exact: ClassVar[bool] = True
    rounds: ClassVar[bool] = False
    suffix: ClassVar[str] = "npy"

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:  # noqa: ARG002 - CPU only
        self._matrix = np.empty((max(16, expected), dim), np.float32)
        self._count = 0

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers."""
        return 4 * dim

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        end = self._count + len(vectors)
        if end > len(self._matrix):
            larger = np.empty((max(end, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger
        self._matrix[self._count : end] = vectors
        self._count = end

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find the k allowed rows of largest product for each of (q, d) queries; ties by row."""
        rows = row_numbers(allowed)
        scores = queries @ self._matrix[rows].T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return [rows[order].tolist() for order in best]

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - suits any number
        """Whether an instance created for `count` rows would search better."""
        return False

    def rounded(self, vectors: Floats) -> Floats:
        """The rows that would be stored for (n, d) vectors: themselves."""
        return vectors

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Get (n, d) rows by number."""
        rows: Floats = self._matrix[np.asarray(numbers, np.int64)]
        return rows

    def save(self, file: Path) -> None:
        """Write all rows to `file`."""
        with file.open("wb") as stream:
            np.save(stream, self._matrix[: self._count], allow_pickle=False)

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:  # noqa: ARG003 - CPU only
        """Read a file that `save` wrote. Raises ValueError for any other file."""
        matrix = np.load(file, allow_pickle=False)
        if matrix.ndim != 2 or matrix.dtype != np.float32:
            raise ValueError(f"{file.name} contains {matrix.dtype} numbers in {matrix.ndim} dimensions, not rows")
        rows = cls(matrix.shape[1])
        rows.add(matrix)
        return rows

    def __len__(self) -> int:
        return self._count
