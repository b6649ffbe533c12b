"""Which rows hold which metadata, as bitmaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pyroaring import BitMap
from sortedcontainers import SortedDict

from semblance.service.filters import All, Between, Either, Filter, OneOf, Scalar

_Kind: TypeAlias = str


class Postings:
    """For every field and value the rows that hold it; ranges walk the sorted values.

    Only scalars and entries of lists are found; a nested object is stored with the document but not searched.
    """

    def __init__(self) -> None:
        self._rows: defaultdict[tuple[str, _Kind], SortedDict[Any, BitMap]] = defaultdict(SortedDict)

    def add(self, row: int, metadata: Mapping[str, Any]) -> None:
        """Enter a row's metadata."""
        for field, value in _entries(metadata):
            kind, key = _ordered(value)
            self._rows[field, kind].setdefault(key, BitMap()).add(row)

    def remove(self, row: int, metadata: Mapping[str, Any]) -> None:
        """Take out what `add` entered."""
        for field, value in _entries(metadata):
            kind, key = _ordered(value)
            rows = self._rows[field, kind]
            rows[key].discard(row)
            if not rows[key]:
                del rows[key]

    def matching(self, where: Filter) -> BitMap:
        """The rows that a filter describes."""
        match where:
            case OneOf(field, values):
                return BitMap.union(BitMap(), *[self._holding(field, value) for value in values])
            case Between():
                return self._between(where)
            case All(parts):
                return BitMap.intersection(*map(self.matching, parts))
            case Either(parts):
                return BitMap.union(*map(self.matching, parts))

    def _holding(self, field: str, value: Scalar) -> BitMap:
        kind, key = _ordered(value)
        values = self._rows.get((field, kind))
        return BitMap() if values is None else values.get(key, BitMap())

    def _between(self, where: Between) -> BitMap:
        kind, _ = _ordered(where.low if where.low is not None else where.high)
        rows = self._rows.get((where.field, kind))
        if rows is None:
            return BitMap()
        values = rows.irange(where.low, where.high, (where.includes_low, where.includes_high))
        return BitMap.union(BitMap(), *[rows[value] for value in values])


def _entries(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    for field, given in metadata.items():
        values = given if isinstance(given, list) else [given]
        scalars = [value for value in values if value is None or isinstance(value, str | int | float | bool)]
        yield from {(field, _ordered(value)): (field, value) for value in scalars}.values()


def _ordered(value: Scalar) -> tuple[_Kind, str | float]:
    """The kind of a value and what sorts it there. Kinds never meet: True is not 1, and "1" neither."""
    if value is None:
        return "null", 0
    if isinstance(value, bool):
        return "boolean", value
    return ("string" if isinstance(value, str) else "number"), value
