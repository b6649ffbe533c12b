"""Triplets: which of two texts is nearer to a third."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from semblance_lab.training.recipe import Normalize, Order, Recipe

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective


class SbertTriplet(Recipe):
    """SBERT's triplet objective, with Euclidean distance and margin 1.

    Rows are anchor, positive and negative. The pooled vectors are not normalized, as in the paper. Defaults of the
    paper for sections of Wikipedia: one epoch, batch 16, learning rate 2e-5 with 10 % warm-up. Prefer
    `sbert_regression` if there are grades.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    columns: ClassVar = ("anchor", "positive", "negative")

    normalize: Normalize = False
    batches: Order = "by_length"
    margin: float = Field(1.0, gt=0, description="By how much the positive must be nearer than the negative.")

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Create the hinge loss on the difference of the distances."""
        from semblance_lab.training.objectives.triplet import Triplet  # noqa: PLC0415 - imports torch

        return Triplet(self.margin)
