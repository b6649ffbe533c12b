"""Regression of cosines on the grades of people, or of another model."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn.functional import cosine_similarity, mse_loss

from semblance_lab.training.objective import EncodedColumn, require_labels


class CosineRegression:
    """Mean squared error between the cosine of two pooled vectors and the grade of the pair.

    With u and v (b, d) the pooled vectors, and g (b,) the grades::

        loss = mean_i (cos(u_i, v_i) - g_i)^2                                            in [0, 4] for g in [-1, 1]

    Columns: two texts. Labels: (b,) grades; in the papers in [0, 1], as the grades of the STS benchmark divided by 5.

    0 if and only if every cosine equals its grade. Symmetric. (1 - g)^2 for identical texts; the cosine of a zero
    vector counts as 0.

    It has no parameters. It is the regression objective of Sentence-BERT and, with the scores of a slow model as
    grades, the objective of a surrogate.

    Prefer it for graded pairs. Grades of people do not use the lower half of the cosine's range, so dissimilar pairs
    are pushed towards orthogonal, not opposite vectors.

    >>> import torch
    >>> u, v = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0]])
    >>> pair = [EncodedColumn(each[:, None], torch.ones(1, 1, dtype=torch.bool), each) for each in (u, v)]
    >>> loss = CosineRegression()(pair, torch.tensor([1.0]))  # (0.6 - 1)^2
    >>> round(loss.item(), 4)
    0.16

    Raises:
        ValueError: there are no labels, or not two columns.

    Source: reimers-gurevych-2019-sbert, section 3, regression objective function; sun-etal-2022-origin, the surrogate.
    """

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        """Mean loss of a batch, a scalar."""
        u, v = (column.pooled.float() for column in columns)
        return mse_loss(cosine_similarity(u, v), require_labels(labels, "the grade of the pair").float())
