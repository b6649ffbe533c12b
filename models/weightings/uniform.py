"""The same weight for every token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.text import TokenizedText


class Uniform:
    """Every token counts the same, special tokens included.

    For each of n tokens::

        w_i = 1

    The mean is that of the model without a weighting: the baseline of other weightings.

    >>> zeros = np.zeros((2, 2), np.int32)
    >>> Uniform().weights(TokenizedText("a b", zeros[0], zeros, np.array([0, 1], np.int32)))
    array([1., 1.], dtype=float32)

    Source: arora-etal-2017-sif, section 4, the averaging baseline.
    """

    options: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """Return the weighting, which has no options."""
        del options
        return cls()

    @property
    def digest(self) -> str:
        """A constant: nothing else determines the weights."""
        return "uniform"

    def weights(self, text: TokenizedText) -> Floats:
        """(n,) ones."""
        return np.ones(len(text), np.float32)
