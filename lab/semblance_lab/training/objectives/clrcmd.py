"""Contrastive loss of token vectors by RCMD."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from semblance_lab.training.losses.pairwise_rcmd import TokenBatch, pairwise_rcmd
from semblance_lab.training.objective import EncodedColumn, in_batch_cross_entropy
from semblance_lab.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking
from semblance_lab.training.processes import gather_tokens


class Clrcmd:
    """Each anchor must identify its positive by RCMD, among all positives and hard negatives.

    With s(a_i, p_j) the RCMD of the tokens of anchor i with those of positive j, likewise for hard negatives n, and t
    the temperature::

        loss = mean_i - log( exp(s(a_i, p_i) / t) / sum_j (exp(s(a_i, p_j) / t) + exp(s(a_i, n_j) / t)) )   in (0, inf)

    Columns: anchor, positive, and zero or more columns of hard negatives. No labels. With several processes the
    candidates of all are compared.

    log(2 b) if all similarities are equal, as for a batch of one repeated text, and log b without hard negatives; near
    0 if every positive equals its anchor and other texts differ. Not symmetric: only anchors choose.

    Args:
        temperature: 0.05 in the paper.
        pooled_weight: weight of the same loss over the cosines of the pooled vectors, which is added; 0 in the paper.
            RCMD does not constrain the mean of a text's tokens, so training by it alone does not control the cosine of
            pooled vectors. Set a weight if the model is to serve both measures.

    Departs from the authors' code on exact ties, as `rcmd` does: only the first of equal matches counts.

    Prefer it to train encoders that `rcmd` will score or explain; `multiple_negatives_ranking` is cheaper if only the
    cosine of pooled vectors will be used.

    >>> import torch
    >>> def column(*texts: list[list[float]]) -> EncodedColumn:
    ...     tokens = torch.tensor(texts)
    ...     return EncodedColumn(tokens, torch.ones(tokens.shape[:2], dtype=torch.bool), tokens.mean(dim=1))
    >>> anchors, positives = column([[1.0, 0.0]], [[0.0, 1.0]]), column([[2.0, 0.0]] * 2, [[0.0, 3.0]] * 2)
    >>> loss = Clrcmd(temperature=1)([anchors, positives], None)  # s is 1 with the own, 0 with the other: log(1 + 1/e)
    >>> round(loss.item(), 4)
    0.3133

    Raises:
        ValueError: there is no column of positives, or a text has no token.

    Source: lee-etal-2022-clrcmd, section 4, the contrastive objective.
    """

    def __init__(self, temperature: float = 0.05, pooled_weight: float = 0.0) -> None:
        self.temperature = temperature
        self.pooled_weight = pooled_weight
        self._of_pooled = MultipleNegativesRanking(scale=1 / temperature)

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None = None) -> Tensor:
        """Mean loss of a batch, a scalar."""
        anchors, positives, *negatives = columns
        anchor = TokenBatch(anchors.tokens, anchors.mask)
        gathered = [TokenBatch(*gather_tokens(each.tokens, each.mask)) for each in (positives, *negatives)]
        scores = [pairwise_rcmd(anchor, candidates) for candidates in gathered]
        loss = in_batch_cross_entropy(scores, 1 / self.temperature)
        return loss + self.pooled_weight * self._of_pooled(columns, labels) if self.pooled_weight else loss
