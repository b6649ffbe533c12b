"""Vectors that a number stands for."""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Floats, unit_rows


def drawn(seed: int, dim: int) -> Floats:
    """The unit vector of that number: always the same one."""
    vector: Floats = unit_rows(np.random.default_rng(seed).normal(size=dim)).astype(np.float32)
    return vector
