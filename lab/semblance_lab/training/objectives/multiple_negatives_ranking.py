"""In-batch softmax loss over the cosines of pooled vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from semblance_lab.training.objective import EncodedColumn, in_batch_cross_entropy
from semblance_lab.training.processes import gather


class MultipleNegativesRanking:
    """Each anchor must identify its positive by cosine; other rows' positives are negatives.

    With a and p (b, d) the pooled vectors of anchors and positives::

        loss = mean_i - log( exp(scale cos(a_i, p_i)) / sum_j exp(scale cos(a_i, p_j)) )          in (0, inf)

    Columns: anchor, positive, and any number of columns of hard negatives, which are candidates of every anchor. No
    labels. With several processes the candidates of all are compared.

    log b if all cosines are equal, as for a batch of one repeated text; log(1 + (b - 1) exp(-scale)) if every positive
    equals its anchor and all others are orthogonal. Not symmetric: only anchors choose. A positive that another row
    repeats acts as a false negative: draw batches without duplicates.

    Args:
        scale: factor of the cosines, one over the temperature; 20 in the paper's code.

    Departs from that code by supporting hard negatives.

    Prefer it for related pairs without known negatives. See `clrcmd` to train token vectors.

    >>> a, p = torch.eye(2), torch.tensor([[3.0, 0.0], [0.0, 5.0]])
    >>> columns = [EncodedColumn(v[:, None], torch.ones(2, 1, dtype=torch.bool), v) for v in (a, p)]
    >>> loss = MultipleNegativesRanking(scale=1)(columns, None)  # log(1 + 1/e)
    >>> round(loss.item(), 4)
    0.3133

    Raises:
        ValueError: there is no column of positives.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4, MNLoss.
    """

    def __init__(self, scale: float = 20.0) -> None:
        self.scale = scale

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None = None) -> Tensor:  # noqa: ARG002 - of Objective
        """Mean loss of a batch, a scalar."""
        anchor, positive, *negatives = (normalize(column.pooled.float(), dim=1) for column in columns)
        with torch.autocast(anchor.device.type, enabled=False):
            cosines = [anchor @ gather(candidates).T for candidates in (positive, *negatives)]
        return in_batch_cross_entropy(cosines, self.scale)
