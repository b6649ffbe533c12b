"""Bitmaps of rows: which rows have which metadata values."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain, islice, takewhile
from typing import Any, Self, TypeAlias, get_args

import numpy as np
from pyroaring import BitMap
from semblance_client.vocabulary.fields import Scalar
from sortedcontainers import SortedDict

from semblance.service.filters import (
    All,
    Between,
    Condition,
    Either,
    Exists,
    Filter,
    Not,
    OneOf,
    Prefix,
    ValueType,
    scalars,
)
from semblance.service.indexes.columns.array_file import Array, Pieces
from semblance.service.indexes.columns.byte_strings import ByteStrings
from semblance.service.ports.documents import Metadata
from semblance.service.ports.indexes import Facet, FacetValue
from semblance.service.sorting import Order, sort_key, sort_rank

MAX_BEGINNING = 1000  # values that are counted

RowNumbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


class Postings:
    """Rows by metadata field and value; values are sorted for ranges.

    Only scalars and entries of lists are indexed; a nested object is stored with the document but not searched.
    """

    def __init__(self) -> None:
        self._rows: defaultdict[tuple[str, ValueType], SortedDict[Any, BitMap]] = defaultdict(SortedDict)
        self._present: defaultdict[str, BitMap] = defaultdict(BitMap)  # field -> rows with a value

    def add(self, row: int, metadata: Mapping[str, Any]) -> None:
        """Index the metadata of a row."""
        for field, value in values_of(metadata):
            kind, key = sort_key(value)
            self._rows[field, kind].setdefault(key, BitMap()).add(row)
            self._present[field].add(row)

    def remove(self, row: int, metadata: Mapping[str, Any]) -> None:
        """Remove the metadata of a row."""
        for field, value in values_of(metadata):
            kind, key = sort_key(value)
            rows = self._rows[field, kind]
            rows[key].discard(row)
            if not rows[key]:
                del rows[key]
            self._present[field].discard(row)

    def holds(self, row: int, metadata: Metadata) -> bool:
        """Whether a row is found under all values of its metadata."""
        return all(
            row in self._equal(field, value) and row in self._present[field] for field, value in values_of(metadata)
        )

    def entries(self, live: BitMap) -> int:
        """Number of values under which live rows are found, each counted once for each row."""
        bitmaps = chain.from_iterable(values.values() for values in self._rows.values())
        return sum(map(live.intersection_cardinality, bitmaps))

    def pieces(self) -> Mapping[str, Pieces]:
        """The arrays to save: a key in JSON for each bitmap, and the bitmaps."""
        keys, rows = ByteStrings(), ByteStrings()
        for field, present in self._present.items():
            keys.append(json.dumps([field]).encode())
            rows.append(present.serialize())
        for (field, kind), values in self._rows.items():
            for value, having in values.items():
                keys.append(json.dumps([field, kind, value]).encode())
                rows.append(having.serialize())
        return {**keys.pieces("values"), **rows.pieces("rows_with")}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Self:
        """Inverse of `pieces`. Raises KeyError, ValueError."""
        loaded = cls()
        keys, rows = ByteStrings.of(arrays, "values"), ByteStrings.of(arrays, "rows_with")
        values: defaultdict[tuple[str, ValueType], list[tuple[Any, BitMap]]] = defaultdict(list)
        for number in range(len(keys)):
            having = BitMap.deserialize(rows[number])
            match json.loads(keys[number]):
                case [field]:
                    loaded._present[field] = having
                case [field, kind, value]:
                    values[field, kind].append((value, having))
        for key, each in values.items():
            loaded._rows[key] = SortedDict(each)
        return loaded

    def matching(self, where: Filter, live: BitMap) -> BitMap:
        """Rows among `live` that match a filter."""
        match where:
            case Not(part):
                return live - self.matching(part, live)
            case All(parts):
                return BitMap.intersection(*[self.matching(part, live) for part in parts])
            case Either(parts):
                return BitMap.union(*[self.matching(part, live) for part in parts])
            case _:
                return live & self._meeting(where)

    def fields(self) -> set[str]:
        """Fields with a value."""
        return {field for field, having in self._present.items() if having}

    def types_in(self, field: str) -> set[ValueType]:
        """Types of the values in a field."""
        return {kind for kind in get_args(ValueType) if self._rows.get((field, kind))}

    def facet(self, field: str, rows: BitMap, most: int) -> Facet:
        """The `most` most frequent values of a field among some rows; of equals, the smallest first."""
        by_type = [(kind, self._rows[field, kind]) for kind in get_args(ValueType) if (field, kind) in self._rows]
        bitmaps = chain.from_iterable(having.values() for _, having in by_type)
        counts = np.fromiter(map(rows.intersection_cardinality, bitmaps), np.int64)
        best = np.argsort(-counts, kind="stable")[:most].tolist()  # values are in order
        found = [FacetValue(_value_at(by_type, at), int(counts[at])) for at in best if counts[at]]
        return Facet(found, int(np.count_nonzero(counts)))

    def beginning(self, field: str, start: str, rows: BitMap) -> dict[str, int]:
        """Number of some rows by string of a field that begins so: of the first thousand ones."""
        having: Mapping[str, BitMap] = self._rows.get((field, "string"), {})
        counts = {
            value: rows.intersection_cardinality(having[value])
            for value in islice(self._strings(field, start), MAX_BEGINNING)
        }
        return {value: count for value, count in counts.items() if count}

    def having(self, values: Sequence[Scalar]) -> BitMap:
        """Rows that have one of some values in any field."""
        return BitMap.union(BitMap(), *[self._equal(field, value) for field in self._present for value in values])

    def distinct(self, field: str) -> int:
        """Number of different values in a field."""
        return sum(len(self._rows.get((field, kind), ())) for kind in get_args(ValueType))

    def in_order(self, rows: BitMap, order: Order) -> Iterator[BitMap]:
        """Split rows by their values in a field; those without a value come last.

        A row of several values comes with the first of them.
        """
        left = rows.copy()
        kinds = get_args(ValueType)
        for kind in reversed(kinds) if order.descending else kinds:
            values = self._rows.get((order.field, kind), SortedDict())
            for value in reversed(values) if order.descending else values:
                if found := left & values[value]:
                    yield found
                    left -= found
        yield left

    def _meeting(self, condition: Condition | Exists) -> BitMap:
        match condition:
            case OneOf(field, values):
                return BitMap.union(BitMap(), *[self._equal(field, value) for value in values])
            case Between():
                return self._between(condition)
            case Prefix(field, start):
                return self._beginning(field, start)
            case Exists(field):
                return self._present.get(field, BitMap())

    def _equal(self, field: str, value: Scalar) -> BitMap:
        kind, key = sort_key(value)
        values = self._rows.get((field, kind))
        return BitMap() if values is None else values.get(key, BitMap())

    def _between(self, where: Between) -> BitMap:
        kind, _ = sort_key(where.low if where.low is not None else where.high)
        rows = self._rows.get((where.field, kind))
        if rows is None:
            return BitMap()
        values = rows.irange(where.low, where.high, (where.includes_low, where.includes_high))
        return BitMap.union(BitMap(), *[rows[value] for value in values])

    def _beginning(self, field: str, start: str) -> BitMap:
        having: Mapping[str, BitMap] = self._rows.get((field, "string"), {})
        return BitMap.union(BitMap(), *[having[value] for value in self._strings(field, start)])

    def _strings(self, field: str, start: str) -> Iterator[str]:
        """The values of a field that begin so, in order."""
        values = self._rows.get((field, "string"), SortedDict()).irange(start)
        return takewhile(lambda value: value.startswith(start), values)  # they follow each other


def facet_of(metadata: Iterable[Metadata], field: str, most: int) -> Facet:
    """The same as `Postings.facet`, from the metadata of some documents alone."""
    counts = Counter(key for each in metadata for key in {sort_rank(value) for value in scalars(each.get(field, {}))})
    best = nsmallest(most, counts, key=lambda key: (-counts[key], key))
    kinds = get_args(ValueType)
    return Facet([FacetValue(_value(kinds[rank], key), counts[rank, key]) for rank, key in best], len(counts))


def values_of(metadata: Metadata) -> list[tuple[str, Scalar]]:
    """The fields of metadata with their values, each once."""
    pairs = ((field, scalar) for field, value in metadata.items() for scalar in scalars(value))
    return list({(field, sort_key(value)): (field, value) for field, value in pairs}.values())


def _value_at(by_type: Sequence[tuple[ValueType, SortedDict[Any, BitMap]]], at: int) -> Scalar:
    """A value by its place among those of all types."""
    for kind, having in by_type:
        if at < len(having):
            return _value(kind, having.peekitem(at)[0])
        at -= len(having)
    raise IndexError(at)


def _value(kind: ValueType, key: Any) -> Scalar:
    """Inverse of `sort_key`."""
    return None if kind == "null" else key


def row_numbers(rows: BitMap) -> RowNumbers:
    """Row numbers in ascending order; `np.array(rows)` takes 0.1 s for a million."""
    return np.asarray(rows.to_array(), np.uint32).astype(np.int64)
