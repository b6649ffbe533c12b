"""Plain implementations of RCMD between all pairs of two batches, with more memory.

They are oracles for lab/semblance_lab/training/losses/pairwise_rcmd.py and baselines for benchmarks/speed/training.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from semblance_lab.training.losses.pairwise_rcmd import EPS, TokenBatch, pairwise_rcmd

Variant: TypeAlias = Callable[[TokenBatch, TokenBatch], Tensor]


def dense_rcmd(x: TokenBatch, y: TokenBatch) -> Tensor:
    """(b1, b2) all cosines by one matrix product; temporaries of b1 b2 l1 l2 numbers."""
    return _best_means(torch.einsum("ikd,jld->ijkl", _unit(x), _unit(y)), x.mask, y.mask)


def broadcast_rcmd(x: TokenBatch, y: TokenBatch) -> Tensor:
    """(b1, b2) all cosines by broadcasting; temporaries of b1 b2 l1 l2 d numbers."""
    cosines = cosine_similarity(x.vectors[:, None, :, None], y.vectors[None, :, None, :], dim=4, eps=EPS)
    return _best_means(cosines, x.mask, y.mask)


def gathered_rcmd(x: TokenBatch, y: TokenBatch) -> Tensor:
    """(b1, b2) best matches, then a gather of their vectors: b1 b2 (l1 + l2) d numbers."""
    a, b = _unit(x), _unit(y)
    with torch.no_grad():
        cosines = _masked(torch.einsum("ikd,jld->ijkl", a, b), x.mask, y.mask)
        best_y, best_x = cosines.argmax(dim=3), cosines.argmax(dim=2)  # (b1, b2, l1), (b1, b2, l2)
        del cosines
    all_y, all_x = torch.arange(len(b))[None, :, None], torch.arange(len(a))[:, None, None]
    rows = torch.einsum("ikd,ijkd->ijk", a, b[all_y.to(b.device), best_y])
    columns = torch.einsum("jld,ijld->ijl", b, a[all_x.to(a.device), best_x])
    return (_mean(rows, x.mask[:, None]) + _mean(columns, y.mask[None])) / 2


def _unit(batch: TokenBatch) -> Tensor:
    return normalize(batch.vectors, dim=2, eps=EPS)


def _best_means(cosines: Tensor, x_mask: Tensor, y_mask: Tensor) -> Tensor:
    cosines = _masked(cosines, x_mask, y_mask)
    rows, columns = cosines.max(dim=3).values, cosines.max(dim=2).values
    return (_mean(rows, x_mask[:, None]) + _mean(columns, y_mask[None])) / 2


def _masked(cosines: Tensor, x_mask: Tensor, y_mask: Tensor) -> Tensor:
    real = x_mask[:, None, :, None] & y_mask[None, :, None, :]
    return cosines.masked_fill(~real, -torch.inf)


def _mean(best: Tensor, mask: Tensor) -> Tensor:
    return best.masked_fill(~mask, 0).sum(dim=2) / mask.sum(dim=2)


VARIANTS: Mapping[str, Variant] = {
    "broadcast dense": broadcast_rcmd,
    "gathered": gathered_rcmd,
    "matmul dense": dense_rcmd,
    "sparse": pairwise_rcmd,
}
