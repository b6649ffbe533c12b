"""Byte strings under numbers from 0."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from semblance.service.indexes.columns.array_file import Array, Pieces

_UINT64 = "Q"  # type code of arrays


class ByteStrings:
    """Byte strings: the first one after the other in an array, later ones in memory.

    Args:
        data: of the first strings.
        ends: of each in `data`.
    """

    def __init__(self, data: Array | None = None, ends: Array | None = None) -> None:
        self._data = np.empty(0, np.uint8) if data is None else data
        self._ends = np.empty(0, np.int64) if ends is None else ends
        self._later = bytearray()
        self._later_ends = array(_UINT64)

    def __len__(self) -> int:
        return len(self._ends) + len(self._later_ends)

    def append(self, string: bytes) -> None:
        """Add a string under the next number."""
        self._later += string
        self._later_ends.append(len(self._later))

    def __getitem__(self, number: int) -> bytes:
        first = len(self._ends)
        if number < first:
            start = self._ends[number - 1] if number else 0
            return self._data[start : self._ends[number]].tobytes()
        start = self._later_ends[number - first - 1] if number > first else 0
        return bytes(self._later[start : self._later_ends[number - first]])

    @property
    def arrays(self) -> tuple[Array, Array]:
        """The arrays of the strings that are not in memory, to create another from."""
        return self._data, self._ends

    def pieces(self, name: str, replaced: Mapping[int, bytes] | None = None) -> Mapping[str, Pieces]:
        """The arrays to save, whose names begin with `name`, with some strings replaced by others."""
        replaced = replaced or {}
        ends = np.append(self._ends, np.array(self._later_ends, np.int64) + len(self._data))
        lengths = np.diff(ends, prepend=0)
        for number, string in replaced.items():
            lengths[number] = len(string)
        return {
            f"{name}.data": Pieces("U8", int(lengths.sum()), self._replaced(ends, replaced)),
            f"{name}.ends": Pieces("I64", len(ends), [np.cumsum(lengths)]),
        }

    def _replaced(self, ends: Array, replaced: Mapping[int, bytes]) -> Iterator[Array]:
        """The data of all strings, with some replaced."""
        end = 0
        for number in sorted(replaced):
            yield from self._between(end, ends[number - 1] if number else 0)
            yield np.frombuffer(replaced[number], np.uint8)
            end = ends[number]
        yield from self._between(end, len(self._data) + len(self._later))

    def _between(self, start: int, end: int) -> Iterator[Array]:
        """A part of the data of all strings."""
        first = len(self._data)
        yield self._data[start:end]
        yield np.frombuffer(bytes(self._later[max(0, start - first) : max(0, end - first)]), np.uint8)

    @classmethod
    def of(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Inverse of `pieces`. Raises KeyError."""
        return cls(arrays[f"{name}.data"], arrays[f"{name}.ends"])
