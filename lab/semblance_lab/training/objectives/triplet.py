"""Triplet loss: anchors must be nearer to their positives than to their negatives."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn.functional import triplet_margin_loss

from semblance_lab.training.objective import EncodedColumn


class Triplet:
    """Hinge loss: an anchor's positive must be nearer than its negative by a margin (Euclidean).

    With a, p and n (b, d) the pooled vectors of anchors, positives and negatives::

        loss = mean_i max(0, |a_i - p_i| - |a_i - n_i| + margin)                                  in [0, inf)

    Columns: anchor, positive, negative. No labels.

    The margin if positive and negative are equal; 0 if every negative is farther than its positive by the margin or
    more. Not invariant to the scale of the vectors.

    Args:
        margin: in units of the distance; 1 in the Sentence-BERT paper. Twitter4SSE used 5, the default of its library.

    Departs from the papers by the 1e-6 that PyTorch adds to every coordinate's difference, so that distance 0 has a
    gradient.

    Prefer it for triplets with hard negatives, such as other sections of the same article; with random negatives
    `multiple_negatives_ranking` uses b - 1 of them per row instead of one.

    >>> import torch
    >>> rows = torch.tensor([[[0.0, 0.0]], [[3.0, 4.0]], [[6.0, 0.0]]])
    >>> columns = [EncodedColumn(v[:, None], torch.ones(1, 1, dtype=torch.bool), v) for v in rows]
    >>> loss = Triplet(margin=3)(columns, None)  # 5 - 6 + 3
    >>> round(loss.item(), 4)
    2.0

    Raises:
        ValueError: there are not three columns.

    Source: reimers-gurevych-2019-sbert, section 3, triplet objective function; digiovanni-brambilla-2021-twitter4sse.
    """

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None = None) -> Tensor:  # noqa: ARG002 - of Objective
        """Mean loss of a batch, a scalar."""
        anchor, positive, negative = (column.pooled.float() for column in columns)
        return triplet_margin_loss(anchor, positive, negative, margin=self.margin)
