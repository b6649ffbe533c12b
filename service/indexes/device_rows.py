"""Rows of vectors in device memory, and exhaustive search by torch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from semblance.models.embeddings import Floats
from semblance.models.errors import DeviceLost, OutOfDeviceMemory
from semblance.models.networks.device_errors import device_errors
from semblance.models.text import Booleans
from semblance.service.errors import NotReady
from semblance.service.ports.device import ON_CPU, Device

log = logging.getLogger(__name__)

MIN_ROWS = 1024
SCORES_BYTES = 256 << 20  # of products in memory at a time: 64 queries with a million rows


class DeviceRows:
    """A float32 matrix that doubles when full. The same code runs on the CPU.

    Threads may search concurrently: torch serializes their work.

    Args:
        dim: d, the length of every row.
        expected: rows to allocate at once.
        device: of the matrix.

    Raises:
        NotReady: from every method: the device has failed, and its `on_lost` was called; or it lacks memory.
    """

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        self._device = torch.device(device.name())
        self._on_lost = device.on_lost
        self._count = 0
        with self._device_errors():
            self._matrix = torch.empty((max(MIN_ROWS, expected), dim), device=self._device)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        end = self._count + len(vectors)
        with self._device_errors():
            if end > len(self._matrix):
                larger = self._matrix.new_empty((max(end, 2 * len(self._matrix)), self._matrix.shape[1]))
                larger[: self._count] = self._matrix[: self._count]
                self._matrix = larger
            self._matrix[self._count : end] = torch.tensor(vectors, dtype=torch.float32)
        self._count = end

    def nearest(self, queries: Floats, k: int, masked: Booleans | None = None) -> list[list[int]]:
        """Find the k rows of largest product for each of (q, d) queries; masked rows come last.

        Args:
            queries: of any length.
            k: number of results, or all rows if there are fewer.
            masked: (rows,) True for rows to exclude.
        """
        with self._device_errors():
            return self._nearest(queries, k, masked)

    def _nearest(self, queries: Floats, k: int, masked: Booleans | None) -> list[list[int]]:
        query_rows = torch.tensor(queries, dtype=torch.float32, device=self._device)
        excluded = None if masked is None else torch.from_numpy(masked).to(self._device)
        scores, best = query_rows.new_empty(len(queries), 0), query_rows.new_empty(len(queries), 0, dtype=torch.int64)
        chunk = max(1, SCORES_BYTES // (scores.element_size() * len(queries)))
        for start in range(0, self._count, chunk):
            part = slice(start, min(start + chunk, self._count))
            products = query_rows @ self._matrix[part].T
            if excluded is not None:
                products.masked_fill_(excluded[part], -torch.inf)
            top, at = products.topk(min(k, products.shape[1]), dim=1)
            scores, best = torch.hstack([scores, top]), torch.hstack([best, at + start])
            scores, order = scores.topk(min(k, scores.shape[1]), dim=1)
            best = best.gather(1, order)
        rows: list[list[int]] = best.tolist()
        return rows

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Get (n, d) rows by number."""
        with self._device_errors():
            rows: Floats = self._matrix[torch.tensor(numbers, dtype=torch.int64, device=self._device)].cpu().numpy()
        return rows

    def all(self) -> Floats:
        """Get (rows, d) all rows."""
        with self._device_errors():
            rows: Floats = self._matrix[: self._count].cpu().numpy()
        return rows

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def _device_errors(self) -> Iterator[None]:
        try:
            with device_errors(self._device):
                yield
        except DeviceLost as error:
            log.critical("the device of an index failed; exiting", exc_info=True)
            self._on_lost()
            raise NotReady from error
        except OutOfDeviceMemory as error:
            log.warning("an index: %s", error)
            raise NotReady("the device of the index has no memory left; retry soon") from error
