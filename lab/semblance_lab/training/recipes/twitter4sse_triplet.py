"""Triplets of two tweets from one conversation and one from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from semblance_lab.training.recipe import BatchSize, Normalize, Recipe

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective


class Twitter4sseTriplet(Recipe):
    """Twitter4SSE with the triplet loss: the negative of a row is the text_b of another row.

    Rows are text_a and text_b, as `semblance pairs` writes them; negatives are drawn once, by a random cyclic
    permutation, so that no row gets its own text. Defaults of the paper: those of `twitter4sse`, with the default
    margin of its library, 5 (SBERT's is 1). Prefer `twitter4sse`, which was much better in the paper.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4.
    """

    columns: ClassVar = ("text_a", "text_b")

    normalize: Normalize = False
    batch_size: BatchSize = 50
    margin: float = Field(5.0, gt=0, description="By how much the positive must be nearer than the negative.")

    def objective_columns(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Add a third column, of negatives."""
        anchor, positive = texts.values()
        return {
            "anchor": anchor,
            "positive": positive,
            "negative": [positive[i] for i in sattolo(len(positive), self.seed)],
        }

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Create the hinge loss on the difference of the distances."""
        from semblance_lab.training.objectives.triplet import Triplet  # noqa: PLC0415 - imports torch

        return Triplet(self.margin)


def sattolo(n: int, seed: int) -> list[int]:
    """Draw a random cyclic permutation of 0..n-1, which moves every element.

    >>> sattolo(2, seed=0)
    [1, 0]

    Source: sattolo-1986-cyclic.
    """
    random = np.random.default_rng(seed)
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = int(random.integers(i))
        order[i], order[j] = order[j], order[i]
    return order
