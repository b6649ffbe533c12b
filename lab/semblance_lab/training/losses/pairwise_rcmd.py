"""Differentiable, memory-efficient RCMD of every text of one batch with those of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import normalize

TILE_BYTES = 16 << 20  # of cosines at a time: large enough for a fast product, small beside the batch's vectors
EPS = 1e-8  # smallest norm that a vector is divided by, as in the authors' code


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Token vectors of b texts, padded to the longest of them: l tokens in d dimensions.

    Attributes:
        vectors: (b, l, d) floating point; padding may hold any finite numbers.
        mask: (b, l) bool, the real tokens, special ones included; at least one per text.

    Raises:
        ValueError: a text has no token.
    """

    vectors: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        if not bool(self.mask.any(dim=1).all()):
            raise ValueError("a text of the batch has no token, so its RCMD is undefined; give special tokens at least")


def pairwise_rcmd(x: TokenBatch, y: TokenBatch) -> Tensor:
    """RCMD of every text of x with every text of y, by the paper's sparse computation.

    With u and v the unit token vectors of text i of x (n of them) and of text j of y (m of them)::

        s_ij = (mean_k max_l u_k . v_l  +  mean_l max_k u_k . v_l) / 2            in [-1, 1]

    over real tokens only. Of the n m cosines at most n + m enter the score, so at most as many have a gradient. The
    forward pass computes the cosines of a tile of pairs at a time and keeps only the indices of the best matches. The
    backward pass builds the transport plan of a tile from these indices, and multiplies it with the vectors of the
    other side. Memory between the passes: b1 b2 (l1 + l2) small integers and the vectors; nothing that grows with
    b1 b2 l1 l2, as the dense form does, or with b1 b2 (l1 + l2) d, as gathering the vectors of the best matches does.

    Value and gradient equal those of the dense form; of several equal largest cosines only the first has a gradient.
    1 for a text and itself, 0 for a text of zero vectors, whose gradient is large: a norm below 1e-8 counts as 1e-8, as
    in the authors' code.

    Args:
        x: b1 texts of up to l1 tokens.
        y: b2 texts of up to l2 tokens, of the same dimension and on the same device.

    Returns:
        (b1, b2) float32, under autocast too; float64 if the vectors are.

    Prefer models/measures/rcmd.py if no gradient is needed: it has no padding, and explains its scores.

    >>> anchor = TokenBatch(torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]), torch.tensor([[True, True]]))
    >>> padded = TokenBatch(torch.tensor([[[3.0, 4.0], [9.0, 9.0]]]), torch.tensor([[True, False]]))
    >>> pairwise_rcmd(anchor, padded)  # ((0.6 + 0.8) / 2 + 0.8) / 2
    tensor([[0.7500]])

    Source: lee-etal-2022-clrcmd, section 3, the sparse computation of RCMD over a batch.
    """
    with torch.autocast(x.vectors.device.type, enabled=False):
        scores: Tensor = _PairwiseRcmd.apply(_unit(x), x.mask, _unit(y), y.mask)  # type: ignore[no-untyped-call]
    return scores


def _unit(batch: TokenBatch) -> Tensor:
    """(b, l, d) unit vectors, in float32 or better."""
    return normalize(batch.vectors.to(torch.promote_types(batch.vectors.dtype, torch.float32)), dim=2, eps=EPS)


class _PairwiseRcmd(torch.autograd.Function):
    """RCMD of unit vectors: `x` (b1, l1, d) and `y` (b2, l2, d) with their masks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor) -> Tensor:
        scores = x.new_empty(len(x), len(y))
        index = torch.int16 if max(x.shape[1], y.shape[1]) <= torch.iinfo(torch.int16).max else torch.int32
        best_y = torch.empty((len(x), len(y), x.shape[1]), dtype=index, device=x.device)
        best_x = torch.empty((len(x), len(y), y.shape[1]), dtype=index, device=x.device)
        for i, j in _tiles(x, y):
            cosines = _masked_cosines(x[i], x_mask[i], y[j], y_mask[j])
            rows, in_y = cosines.max(dim=3)  # (t1, l1, t2): of equal cosines, the first
            columns, in_x = cosines.max(dim=1)  # (t1, t2, l2)
            best_y[i, j] = in_y.transpose(1, 2)
            best_x[i, j] = in_x
            scores[i, j] = (_mean(rows.transpose(1, 2), x_mask[i, None]) + _mean(columns, y_mask[None, j])) / 2
        ctx.save_for_backward(x, x_mask, y, y_mask, best_y, best_x)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor, None]:
        x, x_mask, y, y_mask, best_y, best_x = ctx.saved_tensors
        x_share, y_share = (mask.to(x.dtype) / (2 * mask.sum(dim=1, keepdim=True)) for mask in (x_mask, y_mask))
        by_x, by_y = torch.zeros_like(x), torch.zeros_like(y)
        for i, j in _tiles(x, y):
            plan = x.new_zeros(len(x[i]), x.shape[1], len(y[j]), y.shape[1])
            rows = gradient[i, None, j] * x_share[i, :, None]  # (t1, l1, t2)
            plan.scatter_(3, best_y[i, j].transpose(1, 2)[..., None].long(), rows[..., None])
            columns = gradient[i, j, None] * y_share[None, j]  # (t1, t2, l2)
            plan.scatter_add_(1, best_x[i, None, j].long(), columns[:, None])
            flat = plan.flatten(2).flatten(0, 1)
            by_x[i].flatten(0, 1).addmm_(flat, y[j].flatten(0, 1))  # in place, which autocast leaves in float32
            by_y[j].flatten(0, 1).addmm_(flat.T, x[i].flatten(0, 1))
        return by_x, None, by_y, None


def _tiles(x: Tensor, y: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of texts whose cosines take at most TILE_BYTES, or single pairs."""
    side = max(1, isqrt(TILE_BYTES // (x.element_size() * x.shape[1] * y.shape[1])))
    for i in range(0, len(x), side):
        for j in range(0, len(y), side):
            yield slice(i, i + side), slice(j, j + side)


def _masked_cosines(x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor) -> Tensor:
    """(t1, l1, t2, l2) cosines of unit vectors; minus infinity for padding."""
    cosines = (x.flatten(0, 1) @ y.flatten(0, 1).T).view(*x.shape[:2], *y.shape[:2])
    cosines.masked_fill_(~x_mask[:, :, None, None], -torch.inf)
    return cosines.masked_fill_(~y_mask, -torch.inf)


def _mean(best: Tensor, mask: Tensor) -> Tensor:
    """(t1, t2) mean over the last axis, without padding."""
    return best.masked_fill(~mask, 0).sum(dim=2) / mask.sum(dim=2)
