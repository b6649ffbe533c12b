"""Sort by the values of a metadata field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, TypeAlias, TypeVar, get_args

from semblance_client.vocabulary.fields import Scalar

from semblance.service.filters import ValueType, scalars, type_of

Item = TypeVar("Item")
SortKey: TypeAlias = str | float

_RANK = {kind: rank for rank, kind in enumerate(get_args(ValueType))}


@dataclass(frozen=True, slots=True)
class Order:
    """Order by a metadata field.

    Documents without a value come last, and a list counts by the entry that comes first.
    """

    field: str
    descending: bool = False


def sort_key(value: Scalar) -> tuple[ValueType, SortKey]:
    """Type of a value, and its key among values of that type."""
    return type_of(value), 0 if value is None else value


def sort_rank(value: Scalar) -> tuple[int, SortKey]:
    """Sorts values by type, then among those of the type.

    >>> sorted(["b", 2, None, 1, True], key=sort_rank)
    [None, True, 1, 2, 'b']
    """
    kind, key = sort_key(value)
    return _RANK[kind], key


def by_value(
    items: Iterable[Item], metadata_of: Callable[[Item], Mapping[str, Any]], order: Order
) -> Iterator[list[Item]]:
    """Split items by their values in a field; those without a value come last.

    An item of several values comes with the first of them.
    """
    groups: defaultdict[tuple[int, SortKey], list[Item]] = defaultdict(list)
    without: list[Item] = []
    best = max if order.descending else min
    for item in items:
        keys = [sort_rank(value) for value in scalars(metadata_of(item).get(order.field, {}))]
        (groups[best(keys)] if keys else without).append(item)
    for key in sorted(groups, reverse=order.descending):
        yield groups[key]
    yield without


def page(groups: Iterable[Sequence[str]], offset: int, limit: int) -> list[str]:
    """Up to `limit` ids after the first `offset`; groups are in order, their ids not.

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
