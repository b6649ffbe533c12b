"""What a loss is given, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """One column of a training batch after the encoder: b texts of up to l tokens, in d dimensions.

    Attributes:
        tokens: (b, l, d) a vector a token.
        mask: (b, l) bool, the real tokens, special ones included.
        pooled: (b, d) the vector of each whole text.
    """

    tokens: Tensor
    mask: Tensor
    pooled: Tensor


class Objective(Protocol):
    """A loss over the columns of a batch: row i of every column belongs together, as an anchor and its positive.

    A torch.nn.Module where it has parameters of its own. It computes in float32 or better, under autocast too.
    """

    def __call__(self, columns: Sequence[Encoded], labels: Tensor | None) -> Tensor:
        """The mean loss of a batch, a scalar. Each objective says how many columns and which labels it wants.

        Raises:
            ValueError: it wants another number of columns, or labels.
        """


def given(labels: Tensor | None, wanted: str) -> Tensor:
    """The labels of a batch whose loss needs them.

    Raises:
        ValueError: there are none; the message says what is `wanted`.
    """
    if labels is None:
        raise ValueError(f"this objective needs a label a row: {wanted}")
    return labels
