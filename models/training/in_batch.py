"""The cross-entropy of picking one's own among the texts of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


def in_batch_cross_entropy(scores: Sequence[Tensor], scale: float) -> Tensor:
    """The mean over rows i of - log softmax(scale [S_1, S_2, ...]_i)_i: the first candidate of row i is its own.

    Only differences within a row count, so a constant added to all scores changes nothing; where all c scores of a row
    are equal, it is log c.

    Args:
        scores: matrices of b rows, of which the first has at least b columns.
        scale: what scores are multiplied by, one over the temperature.

    >>> in_batch_cross_entropy([torch.tensor([[0.9, 0.9], [0.1, 0.1]])], scale=20)  # log 2
    tensor(0.6931)
    """
    logits = torch.cat(list(scores), dim=1) * scale
    return cross_entropy(logits, torch.arange(len(logits), device=logits.device))
