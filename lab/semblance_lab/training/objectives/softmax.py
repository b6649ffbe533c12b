"""Classification loss of pairs, by a linear layer that is discarded after training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from semblance_lab.training.objective import EncodedColumn, require_labels


class Softmax(torch.nn.Module):
    """Cross-entropy of a pair's class, predicted from both pooled vectors and their difference.

    With u and v (b, d) the pooled vectors, and W (k, 3 d) and c (k,) the parameters of the loss::

        loss = mean_i - log softmax(W [u_i; v_i; |u_i - v_i|] + c)_{label i}                      in [0, inf)

    Columns: two texts. Labels: (b,) integers below k; in the paper 0 contradiction, 1 entailment, 2 neutral.

    log k if W and c are zero. Swapping the columns keeps |u - v| but changes the loss. Identical texts have
    |u - v| = 0, and only W's other columns distinguish them.

    Args:
        dim: d.
        labels: k, the number of classes; 3 in the paper.

    Departs from the paper, which has no c, as its code does. W and c are initialized by torch.nn.Linear.

    Prefer it for pairs with classes but no grades: it was the standard for natural language inference before
    contrastive losses. With entailments and contradictions of the same premise, `clrcmd` or
    `multiple_negatives_ranking` with hard negatives are stronger.

    >>> mask = torch.ones(1, 1, dtype=torch.bool)
    >>> pair = [EncodedColumn(v[:, None], mask, v) for v in torch.tensor([[[1.0]], [[3.0]]])]
    >>> objective = Softmax(dim=1, labels=2)
    >>> objective.classifier.weight.data = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    >>> objective.classifier.bias.data = torch.zeros(2)
    >>> loss = objective(pair, torch.tensor([0]))  # logits |1 - 3| and 0: log(1 + exp(-2))
    >>> round(loss.item(), 4)
    0.1269

    Raises:
        ValueError: there are no labels, or not two columns.

    Source: reimers-gurevych-2019-sbert, section 3, classification objective function.
    """

    def __init__(self, dim: int, labels: int) -> None:
        super().__init__()
        self.classifier = torch.nn.Linear(3 * dim, labels)

    def forward(self, columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        """Mean loss of a batch, a scalar."""
        classes = require_labels(labels, "the number of the class")
        with torch.autocast(classes.device.type, enabled=False):
            logits = self.classifier(self.features(columns))
        return cross_entropy(logits, classes)

    @staticmethod
    def features(columns: Sequence[EncodedColumn]) -> Tensor:
        """(b, 3 d) float32, [u; v; |u - v|]."""
        u, v = (column.pooled.float() for column in columns)
        return torch.cat([u, v, (u - v).abs()], dim=1)
