"""In-batch softmax over the cosines of pooled vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from semblance.models.training.in_batch import in_batch_cross_entropy
from semblance.models.training.objective import Encoded


class MultipleNegativesRanking:
    """Each anchor picks its own positive by cosine; the positives of the other rows are its negatives.

    With a and p (b, d) the pooled vectors of anchors and positives::

        loss = mean_i - log( exp(scale cos(a_i, p_i)) / sum_j exp(scale cos(a_i, p_j)) )          in (0, inf)

    Columns: anchor, positive, and any number of columns of hard negatives, all of which every anchor also chooses from.
    No labels.

    log b where all cosines are equal, as for a batch of one text over and over; log(1 + (b - 1) exp(-scale)) where
    every positive is its anchor and all else is orthogonal. Only anchors choose: swapping the columns changes it. A row
    whose positive stands in another row too pushes that away: draw batches without duplicates.

    Args:
        scale: what cosines are multiplied by, one over the temperature; 20 in the paper's code.

    Departs from that code in nothing but this: it knows no hard negatives there.

    Prefer it for pairs that belong together where nothing says what does not. See `clrcmd` to train token vectors.

    >>> a, p = torch.eye(2), torch.tensor([[3.0, 0.0], [0.0, 5.0]])
    >>> columns = [Encoded(v[:, None], torch.ones(2, 1, dtype=torch.bool), v) for v in (a, p)]
    >>> loss = MultipleNegativesRanking(scale=1)(columns, None)  # log(1 + 1/e)
    >>> round(loss.item(), 4)
    0.3133

    Raises:
        ValueError: there is no column of positives.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4, MNLoss.
    """

    def __init__(self, scale: float = 20.0) -> None:
        self.scale = scale

    def __call__(self, columns: Sequence[Encoded], labels: Tensor | None = None) -> Tensor:  # noqa: ARG002 - of Objective
        """The mean loss of a batch, a scalar."""
        anchor, positive, *negatives = (normalize(column.pooled.float(), dim=1) for column in columns)
        with torch.autocast(anchor.device.type, enabled=False):
            cosines = [anchor @ candidates.T for candidates in (positive, *negatives)]
        return in_batch_cross_entropy(cosines, self.scale)
