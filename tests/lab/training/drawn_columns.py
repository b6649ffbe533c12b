"""Columns of training batches: random ones, and single-token ones."""

from __future__ import annotations

import torch
from torch import Tensor

from semblance_lab.training.losses.pairwise_rcmd import TokenBatch
from semblance_lab.training.objective import EncodedColumn


def drawn_batch(seed: int, b: int, most: int, d: int, dtype: torch.dtype = torch.float32) -> TokenBatch:
    """Draw b texts of 1 to `most` tokens, the first without padding, others with gaps."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(b, most, generator=generator) < 0.6
    mask[torch.arange(b), torch.randint(most, (b,), generator=generator)] = True
    mask[0] = True
    return TokenBatch(torch.randn(b, most, d, generator=generator, dtype=dtype).requires_grad_(), mask)


def drawn_column(seed: int, b: int, most: int, d: int) -> EncodedColumn:
    """Draw a column whose pooled vectors are the means of the tokens, with gradients."""
    batch = drawn_batch(seed, b, most, d)
    share = batch.mask / batch.mask.sum(dim=1, keepdim=True)
    return EncodedColumn(batch.vectors, batch.mask, (share[:, :, None] * batch.vectors).sum(dim=1))


def one_token_texts(vectors: Tensor) -> EncodedColumn:
    """Texts of one token each, which is also their pooled vector."""
    return EncodedColumn(vectors[:, None], torch.ones(len(vectors), 1, dtype=torch.bool), vectors)
