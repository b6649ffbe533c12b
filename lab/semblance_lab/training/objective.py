"""Interface of training objectives, and the in-batch cross-entropy that two of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn:
    """One encoded column of a training batch: b texts of up to l tokens, in d dimensions.

    Attributes:
        tokens: (b, l, d) one vector per token.
        mask: (b, l) bool, the real tokens, special ones included.
        pooled: (b, d) one vector per text.
    """

    tokens: Tensor
    mask: Tensor
    pooled: Tensor


class Objective(Protocol):
    """A loss over the columns of a batch; row i of all columns belongs together, as a pair does.

    A torch.nn.Module if it has parameters. It computes in float32 or better, under autocast too.
    """

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        """Mean loss of a batch, a scalar; each objective documents its columns and labels.

        Raises:
            ValueError: the number of columns is wrong, or labels are missing.
        """


def require_labels(labels: Tensor | None, meaning: str) -> Tensor:
    """Return the labels of a batch.

    Raises:
        ValueError: there are none; the message says what they mean.
    """
    if labels is None:
        raise ValueError(f"this objective needs one label per row: {meaning}")
    return labels


def in_batch_cross_entropy(scores: Sequence[Tensor], scale: float) -> Tensor:
    """Mean over rows i of - log softmax(scale [S_1, S_2, ...]_i)_i: candidate i is the positive.

    Only differences within a row count, so a constant added to all scores changes nothing; if all c scores of a row are
    equal, the loss is log c.

    Args:
        scores: matrices of b rows, of which the first has at least b columns.
        scale: factor of the scores, one over the temperature.

    >>> in_batch_cross_entropy([torch.tensor([[0.9, 0.9], [0.1, 0.1]])], scale=20)  # log 2
    tensor(0.6931)
    """
    logits = torch.cat(list(scores), dim=1) * scale
    return cross_entropy(logits, torch.arange(len(logits), device=logits.device))
