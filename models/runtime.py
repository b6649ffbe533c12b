"""What runs a network: token ids in, vectors out, one pass for all texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from models.embeddings import Floats, Want
from models.text import Ints

Precision: TypeAlias = Literal["float32", "bfloat16"]
Pooling: TypeAlias = Literal["mean", "cls", "max"]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """What one pass of b texts comes to.

    Attributes:
        pooled: (b, d) float32, the vector of each text, not brought to unit length.
        vectors: (n_i, d) float32 of each text, in memory of its own; none unless tokens were wanted.
    """

    pooled: Floats
    vectors: Sequence[Floats]


class Runtime(Protocol):
    """Runs one network on one device."""

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One pass of b texts, of n_1 ... n_b tokens.

        Args:
            ids: (n_i,) int32 of each text, special tokens included.
            weights: (n_i,) float32 of each text, the share of each token in a weighted mean.
            want: whether the token vectors come too.
        """
