"""Rows of vectors in the memory of a device, all of which a search looks at."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from semblance.models.embeddings import Floats
from semblance.models.errors import DeviceLost
from semblance.models.networks.device_errors import device_errors
from semblance.models.text import Booleans
from semblance.service.errors import NotReady
from semblance.service.ports.device import ON_CPU, Device

log = logging.getLogger(__name__)

LEAST_ROWS = 1024
SCORES_BYTES = 256 << 20  # of products that stand in memory at a time: those of 64 queries with a million rows


class DeviceRows:
    """A float32 matrix that doubles when full. On the CPU it lies in ordinary memory, and the same lines run.

    Any threads may search side by side: torch puts their work into one order.

    Args:
        dim: d, the length of every row.
        expected: so many rows are going to be added.
        device: where they lie.

    Raises:
        NotReady: as every method: the device failed for good, and whoever gave it was told.
    """

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        self._device = torch.device(device.name())
        self._on_lost = device.on_lost
        self._count = 0
        with self._at_work():
            self._matrix = torch.empty((max(LEAST_ROWS, expected), dim), device=self._device)

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        end = self._count + len(vectors)
        with self._at_work():
            if end > len(self._matrix):
                larger = self._matrix.new_empty((max(end, 2 * len(self._matrix)), self._matrix.shape[1]))
                larger[: self._count] = self._matrix[: self._count]
                self._matrix = larger
            self._matrix[self._count : end] = torch.tensor(vectors, dtype=torch.float32)
        self._count = end

    def nearest(self, queries: Floats, k: int, masked: Booleans | None = None) -> list[list[int]]:
        """For each of (q, d) queries, the k rows of largest product; what is masked comes behind what is not.

        Args:
            queries: of any length.
            k: all rows come where there are fewer.
            masked: (rows,) True for those not to find.
        """
        with self._at_work():
            return self._nearest(queries, k, masked)

    def _nearest(self, queries: Floats, k: int, masked: Booleans | None) -> list[list[int]]:
        asked = torch.tensor(queries, dtype=torch.float32, device=self._device)
        out = None if masked is None else torch.from_numpy(masked).to(self._device)
        scores, best = asked.new_empty(len(queries), 0), asked.new_empty(len(queries), 0, dtype=torch.int64)
        at_once = max(1, SCORES_BYTES // (scores.element_size() * len(queries)))
        for start in range(0, self._count, at_once):
            part = slice(start, min(start + at_once, self._count))
            products = asked @ self._matrix[part].T
            if out is not None:
                products.masked_fill_(out[part], -torch.inf)
            found, at = products.topk(min(k, products.shape[1]), dim=1)
            scores, best = torch.hstack([scores, found]), torch.hstack([best, at + start])
            scores, order = scores.topk(min(k, scores.shape[1]), dim=1)
            best = best.gather(1, order)
        rows: list[list[int]] = best.tolist()
        return rows

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""
        with self._at_work():
            found: Floats = self._matrix[torch.tensor(numbers, dtype=torch.int64, device=self._device)].cpu().numpy()
        return found

    def all(self) -> Floats:
        """(rows, d) every row."""
        with self._at_work():
            found: Floats = self._matrix[: self._count].cpu().numpy()
        return found

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        try:
            with device_errors(self._device):
                yield
        except DeviceLost as error:
            log.critical("the device of an index is lost: this process cannot go on", exc_info=True)
            self._on_lost()
            raise NotReady from error
