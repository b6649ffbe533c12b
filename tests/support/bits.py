"""What two embeddings must share to be the same."""

from __future__ import annotations

from semblance.models.embeddings import TokenEmbeddings


def bits(entry: TokenEmbeddings) -> tuple[object, ...]:
    """All that a cache must keep, NaNs compared by their bits."""
    given = None if entry.given is None else (entry.given.shape, entry.given.tobytes())
    arrays = [(array.shape, array.dtype.str, array.tobytes()) for array in (entry.vectors, entry.weights)]
    return (*arrays, given, entry.mean_pooled)
