"""Many rows in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator


def row_blocks(rows: int, width: int, elements: int) -> Iterator[slice]:
    """Stretches of `rows` rows, each of at most so many elements in all if a row is `width` wide; at least one row.

    >>> list(row_blocks(5, 10, elements=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    height = max(1, elements // max(width, 1))
    yield from (slice(start, min(start + height, rows)) for start in range(0, rows, height))
