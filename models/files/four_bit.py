"""Numbers of four bits in blocks that share a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats

BLOCK_BYTES = 18  # of a block of 32 numbers: the scale as float16, and 16 bytes of two numbers each
OFFSET = 8  # of the number 0
Q4_0 = {"quant_method": "q4_0"}  # `quantization_config` in config.json of a folder with such weights


@dataclass(frozen=True, slots=True, eq=False)
class FourBit:
    """A matrix (r, 32 b) in blocks of 32 numbers of a row.

    With the scale d of a block, byte j holds the numbers j and j + 16, as d (low half - 8) and d (high half - 8).

    Attributes:
        scales: (r, b) float16.
        halves: (r, b, 16) uint8.
    """

    scales: NDArray[np.float16]
    halves: NDArray[np.uint8]

    @classmethod
    def of(cls, blocks: NDArray[np.uint8]) -> Self:
        """Split (r, b, 18) blocks of a file."""
        scales = np.ascontiguousarray(blocks[:, :, :2]).view(np.float16)[:, :, 0]
        return cls(scales, np.ascontiguousarray(blocks[:, :, 2:]))

    def numbers(self) -> Floats:
        """(r, 32 b) float32, the matrix.

        >>> blocks = np.full((1, 1, BLOCK_BYTES), 0x9C, np.uint8)
        >>> blocks[0, 0, :2] = np.array([0.5], np.float16).view(np.uint8)
        >>> FourBit.of(blocks).numbers()[0, [0, 15, 16, 31]]
        array([2. , 2. , 0.5, 0.5], dtype=float32)
        """
        halves = np.concatenate([self.halves & 15, self.halves >> 4], axis=2).astype(np.float32) - OFFSET
        numbers: Floats = (halves * self.scales.astype(np.float32)[:, :, None]).reshape(len(halves), -1)
        return numbers
