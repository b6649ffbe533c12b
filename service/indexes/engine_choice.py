"""Choose the index engine for a number of rows."""

from __future__ import annotations

from semblance.service.ports.indexes import AUTO

FLAT_ROWS = 50_000  # an exhaustive search takes about ten milliseconds at most, is exact, and builds nothing
HNSW_ROWS = 200_000  # such a graph takes minutes to build; lists of rounded rows less, in a quarter of the memory
TOLERANCE = 1.25  # growth beyond a bound that is tolerated, so that an index at a bound is not rebuilt repeatedly


def engine_for(index: str, rows: int) -> str:
    """Engine for a collection with this setting (an engine or "auto") and number of rows.

    >>> engine_for("auto", 1000), engine_for("auto", 100_000), engine_for("auto", 10_000_000)
    ('faiss_flat', 'faiss_hnsw', 'faiss_ivf_sq8')
    >>> engine_for("exact", 10_000_000)
    'exact'
    """
    if index != AUTO:
        return index
    if rows <= FLAT_ROWS:
        return "faiss_flat"
    return "faiss_hnsw" if rows <= HNSW_ROWS else "faiss_ivf_sq8"


def suits(engine: str, index: str, rows: int) -> bool:
    """Whether `engine` would also be chosen for slightly more or slightly fewer rows.

    >>> suits("faiss_flat", "auto", 60_000), suits("faiss_flat", "auto", 70_000)
    (True, False)
    """
    return engine in {engine_for(index, int(rows / TOLERANCE)), engine_for(index, int(rows * TOLERANCE))}
