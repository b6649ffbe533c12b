"""Columns of training batches, random and made up."""

from __future__ import annotations

import torch
from torch import Tensor

from semblance.models.training.objective import Encoded
from semblance.models.training.pairwise_rcmd import TokenBatch


def drawn_batch(seed: int, b: int, most: int, d: int, dtype: torch.dtype = torch.float32) -> TokenBatch:
    """b texts of 1 to `most` tokens, some of them padded, one not; real tokens need not come first."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(b, most, generator=generator) < 0.6
    mask[torch.arange(b), torch.randint(most, (b,), generator=generator)] = True
    mask[0] = True
    return TokenBatch(torch.randn(b, most, d, generator=generator, dtype=dtype).requires_grad_(), mask)


def drawn_column(seed: int, b: int, most: int, d: int) -> Encoded:
    """The same as a column, whose pooled vectors are the means and pass their gradient on to the tokens."""
    batch = drawn_batch(seed, b, most, d)
    share = batch.mask / batch.mask.sum(dim=1, keepdim=True)
    return Encoded(batch.vectors, batch.mask, (share[:, :, None] * batch.vectors).sum(dim=1))


def one_token_texts(vectors: Tensor) -> Encoded:
    """Texts of a single token, which is also their pooled vector."""
    return Encoded(vectors[:, None], torch.ones(len(vectors), 1, dtype=torch.bool), vectors)
