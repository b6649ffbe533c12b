"""Figures of many samples at once, each a row of counts: how often each of n items stands in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from semblance.models.embeddings import Doubles

_ELEMENTS = 1 << 16  # of counts at once: a few arrays of 0.5 MB, which stay in a core's cache


def by_row_blocks(of_rows: Callable[[Doubles], Doubles], counts: Doubles | None, n: int) -> Doubles:
    """(b,) a figure of each row of counts (b, n), computed block by block; of one row of ones without counts."""
    rows = np.ones((1, n)) if counts is None else counts
    if not rows.size:
        return np.zeros(len(rows))
    return np.concatenate([of_rows(rows[part]) for part in row_blocks(len(rows), n, _ELEMENTS)])


def row_blocks(rows: int, width: int, elements: int) -> Iterator[slice]:
    """Stretches of `rows` rows, each of at most so many elements in all if a row is `width` wide; at least one row.

    >>> list(row_blocks(5, 10, elements=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    height = max(1, elements // max(width, 1))
    yield from (slice(start, min(start + height, rows)) for start in range(0, rows, height))


def share(part: Doubles, whole: Doubles) -> Doubles:
    """Part over whole, number by number; 0 where the whole is not above 0.

    >>> share(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    found: Doubles = np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
    return found
