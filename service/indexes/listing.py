"""Put documents in the order of their ids, or of a metadata field, and take a part of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import get_args

from semblance.service.filters import Scalar, ValueType, scalars, type_of
from semblance.service.ports.documents import Metadata
from semblance.service.ports.indexes import Order

_RANK = {kind: rank for rank, kind in enumerate(get_args(ValueType))}


def by_value(rows: Iterable[int], metadata_of: Callable[[int], Metadata], order: Order) -> Iterator[list[int]]:
    """Split rows by their values in a field, as `Postings.in_order` does, from their metadata alone."""
    groups: defaultdict[tuple[int, Scalar], list[int]] = defaultdict(list)
    without: list[int] = []
    best = max if order.descending else min
    for row in rows:
        keys = [_key(value) for value in scalars(metadata_of(row).get(order.field, {}))]
        (groups[best(keys)] if keys else without).append(row)
    for key in sorted(groups, reverse=order.descending):
        yield groups[key]
    yield without


def page(groups: Iterable[Sequence[str]], offset: int, limit: int) -> list[str]:
    """Up to `limit` ids after the first `offset`; groups are in order, and each is put in order of its ids.

    >>> page([["b", "a"], ["d", "c"]], 1, 2)
    ['b', 'c']
    """
    found: list[str] = []
    for ids in groups:
        if offset < len(ids):
            found += nsmallest(offset + limit - len(found), ids)[offset:]
        offset = max(0, offset - len(ids))
        if len(found) == limit:
            break
    return found


def _key(value: Scalar) -> tuple[int, Scalar]:
    """Sorts values by type, then by value."""
    return _RANK[type_of(value)], 0 if value is None else value
