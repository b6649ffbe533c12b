"""Which engine suits how many rows."""

from __future__ import annotations

from semblance.service.ports.indexes import AUTO

FLAT_ROWS = 50_000  # looking at all of them takes some ten milliseconds at most, is exact, and nothing is built
HNSW_ROWS = 200_000  # a graph of so many takes minutes to build; lists take a tenth of that, and longer to search
SLACK = 1.25  # how far a collection may outgrow its engine: one that grows and shrinks about a bound is not built anew


def engine_for(index: str, rows: int) -> str:
    """The engine to build for a collection whose setting `index` names one, or is "auto", and that holds `rows`.

    >>> engine_for("auto", 1000), engine_for("auto", 100_000), engine_for("auto", 10_000_000)
    ('faiss_flat', 'faiss_hnsw', 'faiss_ivf')
    >>> engine_for("exact", 10_000_000)
    'exact'
    """
    if index != AUTO:
        return index
    if rows <= FLAT_ROWS:
        return "faiss_flat"
    return "faiss_hnsw" if rows <= HNSW_ROWS else "faiss_ivf"


def suits(engine: str, index: str, rows: int) -> bool:
    """Whether `engine` is still good enough for so many rows: the one to build for a few more or a few less.

    >>> suits("faiss_flat", "auto", 60_000), suits("faiss_flat", "auto", 70_000)
    (True, False)
    """
    return engine in {engine_for(index, int(rows / SLACK)), engine_for(index, int(rows * SLACK))}
