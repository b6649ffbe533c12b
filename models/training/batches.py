"""Which rows come together in a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from sentence_transformers.base.sampler import DefaultBatchSampler
from torch import Tensor

WINDOW = 50  # batches that are sorted together: enough to be of like length, too few for batches to repeat every epoch


class Batches(DefaultBatchSampler):
    """Rows in an order that the seed and the epoch decide, so that a run that was cut off goes on with the same ones.

    Args:
        dataset: with `len`.
        lengths: of each row; if given, a batch holds rows of about one length: windows of 50 batches are sorted, cut,
            and their batches shuffled again. Padding then is little, as in the paper's smart batching.
        options: what the trainer says: batch_size, drop_last, seed and others.

    Source: reimers-gurevych-2019-sbert, section 7.
    """

    def __init__(self, dataset: Any, lengths: Tensor | None = None, **options: Any) -> None:
        super().__init__(dataset, **options)
        self._rows = len(dataset)
        self._lengths = lengths

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + 1_000_003 * self.epoch)
        order = torch.randperm(self._rows, generator=generator)
        if self.drop_last:  # before sorting, or it would always be the longest rows that are left out
            order = order[: self._rows // self.batch_size * self.batch_size]
        if self._lengths is not None:
            windows = torch.split(order, WINDOW * self.batch_size)
            order = torch.cat([window[self._lengths[window].argsort(stable=True)] for window in windows])
        rows = order.tolist()
        batches = [rows[start : start + self.batch_size] for start in range(0, len(rows), self.batch_size)]
        if self._lengths is not None:
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        yield from batches

    def __len__(self) -> int:
        return self._rows // self.batch_size if self.drop_last else -(-self._rows // self.batch_size)
