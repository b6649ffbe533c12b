"""Exhaustive search on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from pyroaring import BitMap

from models.embeddings import Floats
from service.indexes.engines.exact import Exact

LEAST_ROWS = 1024
SCORES_BYTES = 256 << 20  # of products that stand in memory at a time: those of 64 queries with a million rows


class TorchFlat:
    """Vectors in one float32 matrix on the GPU that doubles when full: a product with all rows, and the best of it.

    Exact; what is not allowed is masked, so filters and deletions cost nothing but the mask. Without a GPU it runs on
    the CPU, where `faiss_flat` is faster. A vector of d dimensions takes 4 d bytes of the device's memory, and up to
    three times as much while the matrix grows.

    Any threads may search side by side: torch puts their work into one order.
    """

    name: ClassVar[str] = "torch_flat"
    exact: ClassVar[bool] = True
    suffix: ClassVar[str] = "npy"

    def __init__(self, dim: int, expected: int = 0) -> None:
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._matrix = torch.empty((max(LEAST_ROWS, expected), dim), device=self._device)
        self._count = 0

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        end = self._count + len(vectors)
        if end > len(self._matrix):
            larger = self._matrix.new_empty((max(end, 2 * len(self._matrix)), self._matrix.shape[1]))
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger
        self._matrix[self._count : end] = torch.tensor(vectors, dtype=torch.float32)
        self._count = end

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, the k allowed rows of largest product."""
        asked = torch.tensor(queries, dtype=torch.float32, device=self._device)
        masked = self._masked(allowed)
        scores, best = asked.new_empty(len(queries), 0), asked.new_empty(len(queries), 0, dtype=torch.int64)
        at_once = max(1, SCORES_BYTES // (scores.element_size() * len(queries)))
        for start in range(0, self._count, at_once):
            part = slice(start, min(start + at_once, self._count))
            products = asked @ self._matrix[part].T
            if masked is not None:
                products.masked_fill_(masked[part], -torch.inf)
            found, at = products.topk(min(k, products.shape[1]), dim=1)
            scores, best = torch.hstack([scores, found]), torch.hstack([best, at + start])
            scores, order = scores.topk(min(k, scores.shape[1]), dim=1)
            best = best.gather(1, order)
        rows: list[Sequence[int]] = best[:, : len(allowed)].tolist()  # what is masked comes behind what is allowed
        return rows

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - it suits any number
        """Whether one made for `count` rows would search better."""
        return False

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""
        at = torch.tensor(numbers, dtype=torch.int64, device=self._device)
        found: Floats = self._matrix[at].cpu().numpy()
        return found

    def save(self, file: Path) -> None:
        """Write all rows to `file`, as `exact` does."""
        with file.open("wb") as stream:
            np.save(stream, self._matrix[: self._count].cpu().numpy(), allow_pickle=False)

    @classmethod
    def load(cls, file: Path) -> Self:
        """What `save` wrote. Raises ValueError: it is something else."""
        saved = Exact.load(file)
        matrix = saved.rows(range(len(saved)))
        rows = cls(matrix.shape[1], len(matrix))
        rows.add(matrix)
        return rows

    def __len__(self) -> int:
        return self._count

    def _masked(self, allowed: BitMap) -> torch.Tensor | None:
        """(rows,) True where a row is not allowed; None if all are."""
        if len(allowed) == self._count:
            return None
        masked = np.ones(self._count, np.bool_)
        masked[np.asarray(allowed.to_array())] = False
        return torch.from_numpy(masked).to(self._device)
