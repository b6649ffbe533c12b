"""Two tweets of one conversation, nearer to each other than to a tweet of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from semblance.models.training.objective import Objective
from semblance.models.training.objectives.triplet import Triplet
from semblance.models.training.recipe import BatchSize, Normalize, Recipe


class Twitter4sseTriplet(Recipe):
    """Twitter4SSE with the triplet loss: the negative of a row is the text_b of another row.

    Rows are text_a and text_b, as `semblance pairs` writes them; negatives are drawn once, by a random permutation
    that is one cycle, so that no row gets its own text. Defaults of the paper: as `twitter4sse`, with the margin of
    the library that it used, 5 (SBERT's is 1). Prefer `twitter4sse`, which was better in the paper by far.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4.
    """

    columns: ClassVar = ("text_a", "text_b")

    normalize: Normalize = False
    batch_size: BatchSize = 50
    margin: float = Field(5.0, gt=0, description="How much nearer the positive is to be than the negative.")

    def prepared(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """With a third column, of negatives."""
        anchor, positive = texts.values()
        return {
            "anchor": anchor,
            "positive": positive,
            "negative": [positive[i] for i in sattolo(len(positive), self.seed)],
        }

    def objective(self, dim: int) -> Objective:
        """The hinge on the difference of the distances."""
        del dim
        return Triplet(self.margin)


def sattolo(n: int, seed: int) -> list[int]:
    """A random permutation of 0..n-1 that is a single cycle, by Sattolo's algorithm; so none stays where it was.

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
