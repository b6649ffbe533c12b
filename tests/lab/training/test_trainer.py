"""Batch order: each row once an epoch, decided by seed and epoch, optionally by length."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semblance_lab.training.recipe import Order
from semblance_lab.training.recipes.twitter4sse_triplet import sattolo
from semblance_lab.training.trainer import SeededBatchSampler


def batches(
    n: int, size: int, order: Order = "shuffled", lengths: torch.Tensor | None = None, epoch: int = 0, seed: int = 0
) -> list[list[int]]:
    lengths = torch.ones(n) if lengths is None else lengths
    sampler = SeededBatchSampler(range(n), order, lengths, batch_size=size, drop_last=True, seed=seed)
    sampler.set_epoch(epoch)
    found = list(sampler)
    assert len(found) == len(sampler)
    return found


orders = st.sampled_from(get_args(get_args(Order)[0]))


@given(n=st.integers(1, 300), size=st.integers(1, 40), order=orders, seed=st.integers(0, 9))
def test_an_epoch_has_full_batches_of_different_rows(n: int, size: int, order: Order, seed: int) -> None:
    found = batches(n, size, order, torch.arange(n) % 7, seed=seed)
    rows = [row for batch in found for row in batch]
    assert len(set(rows)) == len(rows) == n // size * size
    assert {len(batch) for batch in found} <= {size}


def test_every_row_is_seen_over_the_epochs() -> None:
    lengths = torch.arange(107)
    seen = {row for epoch in range(40) for batch in batches(107, 16, "by_length", lengths, epoch) for row in batch}
    assert seen == set(range(107))


def test_only_seed_and_epoch_decide_the_order() -> None:
    first = batches(100, 8, epoch=3)
    torch.manual_seed(2)
    assert batches(100, 8, epoch=3) == first
    assert batches(100, 8, epoch=4) != first
    assert batches(100, 8, epoch=3, seed=1) != first


@pytest.mark.parametrize("order", ["by_length", "in_twos"])
def test_batches_of_similar_lengths_save_padding_and_are_shuffled(order: Order) -> None:
    lengths = torch.randint(5, 60, (1000,), generator=torch.Generator().manual_seed(0)).repeat_interleave(2)

    def padded(found: list[list[int]]) -> int:
        return sum(len(batch) * int(lengths[batch].max()) for batch in found)

    found = batches(2000, 20, order, lengths)
    assert padded(found) < 1.05 * int(lengths.sum())
    assert padded(batches(2000, 20)) > 1.5 * int(lengths.sum())
    means = [float(lengths[batch].float().mean()) for batch in found]
    assert means != sorted(means)
    assert batches(2000, 20, order, lengths, epoch=1) != found


@given(n=st.integers(2, 300), size=st.integers(1, 20).map(lambda half: 2 * half), epoch=st.integers(0, 3))
def test_neighbors_share_a_batch(n: int, size: int, epoch: int) -> None:
    lengths = torch.arange(n) % 7
    found = batches(n, size, "in_twos", lengths, epoch)
    assert all(row ^ 1 in batch or row == n - 1 for batch in found for row in batch)
    if n >= 40:
        assert batches(n, size, "in_twos", lengths, epoch + 1) != found or size > n


@given(n=st.integers(1, 200), seed=st.integers(0, 2**32))
def test_sattolo_draws_one_cycle(n: int, seed: int) -> None:
    order = sattolo(n, seed)
    position, length = order[0], 1
    while position != 0:
        position, length = order[position], length + 1
    assert length == n


def test_all_cycles_are_equally_likely() -> None:
    cycles = [tuple(sattolo(4, seed)) for seed in range(6000)]
    counts = [cycles.count(cycle) for cycle in set(cycles)]
    assert len(counts) == 6  # (4 - 1)! cycles of four
    assert max(counts) < 1.15 * 1000
    assert min(counts) > 0.85 * 1000
