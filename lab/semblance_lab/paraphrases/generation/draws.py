"""Random draws of pairs, in which no word and no kind of pair has too large a share."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from semblance_lab.paraphrases.pairs import GENERATED, Pair

T = TypeVar("T")


class Draws:
    """Pairs drawn so far. The same seed and calls give the same pairs.

    Attributes:
        pairs: in the order in which they were drawn.
        random: the source of all draws.
    """

    def __init__(self, seed: int) -> None:
        self.pairs: list[Pair] = []
        self.random = random.Random(seed)  # noqa: S311 - a sample, no secret
        self._used: Counter[tuple[str, ...]] = Counter()

    def chance(self, share: float) -> bool:
        """True in this share of the calls."""
        return self.random.random() < share

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order."""
        return self.random.sample(items, len(items))

    def allow(self, limit: int, *words: str) -> bool:
        """Whether the words were allowed fewer than `limit` times before; counts this time, too."""
        self._used[words] += 1
        return self._used[words] <= limit

    def add(self, kind: str, pair: tuple[str, str], *, same: bool) -> None:
        """Add two texts in random order, unless they are equal or one is blank."""
        a, b = pair if self.chance(0.5) else pair[::-1]
        if a.strip() and b.strip() and a != b:
            self.pairs.append(Pair(GENERATED, kind, a, b, same))
