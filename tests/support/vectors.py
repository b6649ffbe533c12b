"""Seeded vectors, and the exact content of embeddings, for tests of stores and caches."""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows
from semblance.service.ports.documents import DocumentEmbedding


def unit_vector(seed: int, dim: int) -> Floats:
    """(dim,) a random unit vector; the same for the same seed."""
    vector: Floats = unit_rows(np.random.default_rng(seed).normal(size=dim)).astype(np.float32)
    return vector


def bits(entry: TokenEmbeddings) -> tuple[object, ...]:
    """Everything that a cache must keep of an entry; NaNs compare by their bits."""
    pooled = None if entry.pooled_vector is None else (entry.pooled_vector.shape, entry.pooled_vector.tobytes())
    arrays = [(array.shape, array.dtype.str, array.tobytes()) for array in (entry.vectors, entry.weights)]
    return (*arrays, pooled, entry.mean_pooled)


def one_passage(
    vector: Floats, *, truncated: bool = False, codes: bytes | None = None, code_error: float = 0.0
) -> DocumentEmbedding:
    return DocumentEmbedding(vector[None], truncated, None, None if codes is None else [codes], code_error)
