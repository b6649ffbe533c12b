"""Find the numbers of strings by their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from semblance.service.indexes.columns.array_file import Array, Pieces, in_one

RECENT = 1 << 16  # strings in a dictionary, which is faster to change, before they move to the arrays
RECENT_SHARE = 8  # of a large index, an eighth of its strings: each move copies the arrays


class StringNumbers:
    """Numbers by string: 12 bytes each, in arrays sorted by digest; recent ones in a dictionary.

    A string may be added again under another number. The strings themselves are kept elsewhere: of two with one
    digest, the caller tells which it is.

    Args:
        digests: of the strings, ascending.
        numbers: of each.
    """

    def __init__(self, digests: Array | None = None, numbers: Array | None = None) -> None:
        self._digests = np.empty(0, np.uint64) if digests is None else digests
        self._numbers = np.empty(0, np.uint32) if numbers is None else numbers
        self._recent: dict[str, int] = {}

    def add(self, string: str, number: int) -> None:
        """Add a string under a number, which is found before its former ones."""
        self._recent[string] = number
        if len(self._recent) > max(RECENT, len(self._digests) // RECENT_SHARE):
            self._digests, self._numbers = self._merged()
            self._recent = {}

    def candidates(self, string: str) -> Iterator[int]:
        """Numbers of a string, and of others with its digest."""
        if string in self._recent:
            yield self._recent[string]
        wanted = np.uint64(digest(string))
        at = int(self._digests.searchsorted(wanted))
        while at < len(self._digests) and self._digests[at] == wanted:
            yield int(self._numbers[at])
            at += 1

    @property
    def arrays(self) -> tuple[Array, Array]:
        """The arrays of all but the recent strings, to create another from."""
        return self._digests, self._numbers

    def pieces(self, name: str) -> Mapping[str, Pieces]:
        """The arrays to save, whose names begin with `name`."""
        digests, numbers = self._merged()
        return {f"{name}.digests": in_one(digests), f"{name}.numbers": in_one(numbers)}

    @classmethod
    def of(cls, arrays: Mapping[str, Array], name: str) -> Self:
        """Inverse of `pieces`. Raises KeyError."""
        return cls(arrays[f"{name}.digests"], arrays[f"{name}.numbers"])

    def _merged(self) -> tuple[Array, Array]:
        """The arrays with the recent strings."""
        digests = np.fromiter(map(digest, self._recent), np.uint64, len(self._recent))
        numbers = np.fromiter(self._recent.values(), np.uint32, len(self._recent))
        order = np.argsort(digests, kind="stable")
        at = np.searchsorted(self._digests, digests[order])
        return np.insert(self._digests, at, digests[order]), np.insert(self._numbers, at, numbers[order])


def digest(text: str) -> int:
    """Digest of a text, of eight bytes."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
