"""Contrastive training on pairs of tweets from one conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from semblance_lab.training.recipe import BatchSize, Recipe

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective


class Twitter4sse(Recipe):
    """Twitter4SSE: weak pairs from conversations, with the other rows of a batch as negatives.

    Rows are text_a and text_b, as `semblance pairs` writes them. Defaults of the paper: one epoch, batch 50, learning
    rate 2e-5 with 10 % warm-up, the last weights kept. Prefer `clrcmd` if there are hard negatives.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4.
    """

    columns: ClassVar = ("text_a", "text_b")

    batch_size: BatchSize = 50
    scale: float = Field(20.0, gt=0, description="Factor of the cosines before the softmax.")

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Create the ranking loss."""
        from semblance_lab.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking  # noqa: PLC0415 - imports torch

        return MultipleNegativesRanking(self.scale)
