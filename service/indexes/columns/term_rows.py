"""Rows by term, with the frequency of the term in each."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.service.indexes.columns.array_file import Array, Pieces
from semblance.service.indexes.columns.byte_strings import ByteStrings
from semblance.service.indexes.columns.string_numbers import StringNumbers

_UINT32 = "I"  # type code of arrays

TermArray: TypeAlias = NDArray[np.uint32]


class _Later:
    """Rows that have a term, and its frequency in each, of later rows."""

    __slots__ = ("counts", "rows")

    def __init__(self) -> None:
        self.rows = array(_UINT32)
        self.counts = array(_UINT32)


class TermRows:
    """Ascending rows of each term: the first in arrays, later ones in memory.

    Args:
        arrays: of `pieces`; in them, the rows of a term follow each other.
    """

    def __init__(self, arrays: Mapping[str, Array] | None = None) -> None:
        self._terms = ByteStrings.of(arrays, "terms") if arrays else ByteStrings()
        self._numbers = StringNumbers.of(arrays, "terms") if arrays else StringNumbers()
        self._ends = arrays["terms.row_ends"] if arrays else np.empty(0, np.int64)
        self._rows: TermArray = arrays["terms.rows"] if arrays else np.empty(0, np.uint32)
        self._counts: TermArray = arrays["terms.counts"] if arrays else np.empty(0, np.uint32)
        self._later: dict[str, _Later] = {}
        self._new: list[str] = []  # of them, those without saved rows

    def __len__(self) -> int:
        """Number of terms."""
        return len(self._terms) + len(self._new)

    def names(self, first: int = 0) -> Iterator[str]:
        """Terms in the order in which they were added, from a place on."""
        saved = len(self._terms)
        yield from (self._terms[number].decode() for number in range(first, saved))
        yield from self._new[max(0, first - saved) :]

    def numbers_of_rows(self) -> Iterator[int]:
        """Number of rows of each term, in the order of `names`."""
        saved = np.diff(self._ends, prepend=0).tolist()
        for name, rows in zip_longest(self.names(), saved, fillvalue=0):
            yield rows + (len(self._later[name].rows) if name in self._later else 0)

    def add(self, row: int, counts: Mapping[str, int]) -> None:
        """Add a row, above all former ones, with the frequencies of its terms."""
        for term, count in counts.items():
            later = self._later.get(term)
            if later is None:
                later = self._later[term] = _Later()
                if self._number(term) is None:
                    self._new.append(term)
            later.rows.append(row)
            later.counts.append(count)

    def count(self, term: str) -> int:
        """Number of rows that have a term."""
        saved = self._saved(term)
        return int(saved.stop - saved.start) + (len(self._later[term].rows) if term in self._later else 0)

    def of(self, term: str) -> tuple[TermArray, TermArray]:
        """Rows that have a term, and its frequency in each."""
        saved, later = self._saved(term), self._later.get(term)
        rows, counts = self._rows[saved], self._counts[saved]
        if later is None:
            return rows, counts
        return np.append(rows, np.array(later.rows, np.uint32)), np.append(counts, np.array(later.counts, np.uint32))

    def count_in(self, term: str, row: int) -> int:
        """Frequency of a term in a row."""
        rows, counts = self.of(term)
        at = int(rows.searchsorted(row))
        return int(counts[at]) if at < len(rows) and rows[at] == row else 0

    def all_rows(self) -> Iterator[TermArray]:
        """The rows of all terms, in pieces; a row comes once for each of its terms."""
        yield self._rows
        for later in self._later.values():
            yield np.array(later.rows, np.uint32)

    def pieces(self) -> Mapping[str, Pieces]:
        """The arrays to save."""
        numbers = {term: self._number(term) for term in self._later}
        known = sorted((number, term) for term, number in numbers.items() if number is not None)
        new = self._new
        lengths = np.append(np.diff(self._ends, prepend=0), [len(self._later[term].rows) for term in new])
        for number, term in known:
            lengths[number] += len(self._later[term].rows)
        ends = np.cumsum(lengths, dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        rows = self._joined(self._rows, known, new, lambda later: later.rows)
        counts = self._joined(self._counts, known, new, lambda later: later.counts)
        return self._names_with(new) | {
            "terms.row_ends": Pieces("I64", len(ends), [ends]),
            "terms.rows": Pieces("U32", total, rows),
            "terms.counts": Pieces("U32", total, counts),
        }

    def _names_with(self, new: Sequence[str]) -> dict[str, Pieces]:
        """The arrays of the terms themselves."""
        terms = ByteStrings(*self._terms.arrays)
        numbers = StringNumbers(*self._numbers.arrays)
        for term in new:
            numbers.add(term, len(terms))
            terms.append(term.encode())
        return {**terms.pieces("terms"), **numbers.pieces("terms")}

    def _joined(
        self,
        saved: TermArray,
        known: Sequence[tuple[int, str]],
        new: Sequence[str],
        later: Callable[[_Later], array[int]],
    ) -> Iterator[Array]:
        """An array of all terms, each with its later rows."""
        start = 0
        for number, term in known:
            yield saved[start : self._ends[number]]
            yield np.array(later(self._later[term]), np.uint32)
            start = self._ends[number]
        yield saved[start:]
        for term in new:
            yield np.array(later(self._later[term]), np.uint32)

    def _number(self, term: str) -> int | None:
        """Number of a term that has saved rows."""
        encoded = term.encode()
        return next(
            (candidate for candidate in self._numbers.candidates(term) if self._terms[candidate] == encoded), None
        )

    def _saved(self, term: str) -> slice:
        """Where the saved rows of a term are."""
        number = self._number(term)
        if number is None:
            return slice(0, 0)
        return slice(self._ends[number - 1] if number else 0, self._ends[number])
