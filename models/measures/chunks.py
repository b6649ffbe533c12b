"""A list in portions of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def portions(sizes: Sequence[int], most: int) -> Iterator[slice]:
    """Neighbours of at most `most` together, all of them in order; one that has more is a portion of its own.

    >>> list(portions([2, 2, 3, 9, 1], most=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    start = held = 0
    for i, size in enumerate(sizes):
        if i > start and held + size > most:
            yield slice(start, i)
            start, held = i, 0
        held += size
    if sizes:
        yield slice(start, len(sizes))
