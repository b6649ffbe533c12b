"""Split lists into chunks of bounded total size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def split_by_size(sizes: Sequence[int], limit: int) -> Iterator[slice]:
    """Consecutive slices whose sizes sum to at most `limit`; a larger item is a slice alone.

    >>> list(split_by_size([2, 2, 3, 9, 1], limit=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    start = total = 0
    for i, size in enumerate(sizes):
        if i > start and total + size > limit:
            yield slice(start, i)
            start, total = i, 0
        total += size
    if sizes:
        yield slice(start, len(sizes))
