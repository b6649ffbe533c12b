"""RCMD of many pairs, a training step, and exhaustive search on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.speed.on_device.random_models import SHAPES, random_network, sts_lengths
from benchmarks.speed.on_device.timing import median_seconds, synchronize
from semblance.models.embeddings import Floats
from semblance.service.indexes.device_rows import DeviceRows
from semblance.service.ports.device import Device
from semblance_lab.training.losses.pairwise_rcmd import TokenBatch, pairwise_rcmd
from semblance_lab.training.objective import EncodedColumn
from semblance_lab.training.objectives.clrcmd import Clrcmd
from tests.support.peak_memory import PeakMemory

DIM = 384
TRAINED_TOKENS = 32
K = 10


def scoring(device: str, texts: int, rounds: int) -> dict[str, float]:
    """RCMD in float32: all pairs of texts with STS lengths, and a query with 100 candidates."""
    all_texts, query = _tokens(sts_lengths(texts), device), _tokens([20], device)
    on_host = _tokens([200] * 100, "cpu")
    candidates = _to(on_host, device)
    with torch.inference_mode():
        seconds = median_seconds(
            {
                "pairs": lambda: pairwise_rcmd(all_texts, all_texts),
                "candidates": lambda: pairwise_rcmd(query, candidates).cpu(),
                "candidates from the host": lambda: pairwise_rcmd(query, _to(on_host, device)).cpu(),
            },
            device,
            rounds,
        )
    return {
        "pairs/s": texts * texts / seconds["pairs"],
        "ms for 100 candidates of 200 tokens": 1000 * seconds["candidates"],
        "ms for them from the host's memory": 1000 * seconds["candidates from the host"],
    }


def _tokens(lengths: Sequence[int], device: str) -> TokenBatch:
    longest = max(lengths)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return _to(TokenBatch(torch.randn(len(lengths), longest, DIM), mask), device)


def _to(batch: TokenBatch, device: str) -> TokenBatch:
    return TokenBatch(batch.vectors.to(device), batch.mask.to(device))


def training(device: str, shape: str, batch: int, rounds: int) -> dict[str, float]:
    """A CLRCMD step: triplets of 32 tokens, autocast to bfloat16, AdamW."""
    peak = PeakMemory(device)
    network, config = random_network(shape).to(device), SHAPES[shape]  # type: ignore[arg-type] # stub of to()
    network.train()
    optimizer, objective = torch.optim.AdamW(network.parameters(), lr=5e-5), Clrcmd()
    ids = torch.randint(4, config.vocab_size, (3 * batch, TRAINED_TOKENS), device=device)
    mask = torch.ones(batch, TRAINED_TOKENS, dtype=torch.bool, device=device)

    def step() -> None:
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            vectors: Any = network(ids).last_hidden_state.float()
        columns = [EncodedColumn(each, mask, each.mean(dim=1)) for each in vectors.tensor_split(3)]
        objective(columns).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()

    seconds = median_seconds({"step": step}, device, rounds)["step"]
    return {"batch": batch, "peak GB": peak.bytes() / 1e9, "steps/s": 1 / seconds, "triplets/s": batch / seconds}


def search(device: str, count: int, rounds: int, bytes_s: float) -> dict[str, float]:
    """The ten nearest of `count` rows: for one query, with half of the rows masked, for 64."""
    rows, rng = DeviceRows(DIM, count, Device(lambda: device)), np.random.default_rng(0)
    for start in range(0, count, 100_000):
        rows.add(rng.standard_normal((min(100_000, count - start), DIM), np.float32))
    queries: Floats = rng.standard_normal((64, DIM), np.float32)
    masked = np.arange(count) % 2 == 0
    synchronize(device)
    seconds = median_seconds(
        {
            "1 query": lambda: rows.nearest(queries[:1], K),
            "1 query, half masked": lambda: rows.nearest(queries[:1], K, masked),
            "64 queries": lambda: rows.nearest(queries, K),
        },
        device,
        rounds,
    )
    figures = {f"ms for {name}": 1000 * each for name, each in seconds.items()}
    share = 4 * DIM * count / seconds["1 query"] / bytes_s
    return {"rows": count, **figures, "queries/s by 64": 64 / seconds["64 queries"], "share of the copy rate": share}
