"""The words of an index, found by a beginning or with a few typos."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from semblance.service.indexes.columns.term_rows import TermRows

_LAST = chr(0x10FFFF)  # sorts behind all letters
_SORTED_SHARE = 0.9  # of the words; with fewer in order, all are sorted again


class IndexWords:
    """Words without digits among the names of `TermRows`, which may get more but never lose any.

    A word is compared to all of similar length. How many rows have a word is known as of the last sort. Thread-safe.
    """

    def __init__(self, terms: TermRows) -> None:
        self._terms = terms
        self._seen = 0  # names
        self._sorted: Sequence[str] = ()
        self._rows: NDArray[np.int64] = np.empty(0, np.int64)  # number of them, of each sorted word
        self._recent: Sequence[str] = ()
        self._by_length: Mapping[int, Sequence[str]] = {}
        self._lock = Lock()

    def near(self, word: str, edits: int) -> list[tuple[str, int]]:
        """Other words within some edits of letters, with the number of edits."""
        self._update()
        by_length = self._by_length
        lengths = range(len(word) - edits, len(word) + edits + 1)
        choices = [each for length in lengths for each in by_length.get(length, ())]
        if not choices:
            return []
        [found] = process.cdist([word], choices, scorer=OSA.distance, score_cutoff=edits, dtype=np.uint8)
        return [(choices[at], int(found[at])) for at in np.flatnonzero((found > 0) & (found <= edits)).tolist()]

    def beginning(self, prefix: str, most: int) -> list[str]:
        """Up to `most` of the words that begin so, those that most rows have first."""
        self._update()
        with self._lock:  # all of one moment
            in_order, rows, recent = self._sorted, self._rows, self._recent
        first, end = bisect_left(in_order, prefix), bisect_left(in_order, prefix + _LAST)
        found = range(first, end)
        if len(found) > most:
            found = (first + np.argpartition(-rows[first:end], most)[:most]).tolist()
        words = [*(in_order[at] for at in found), *(word for word in recent if word.startswith(prefix))]
        return nlargest(most, words, key=self._terms.count)

    def _update(self) -> None:
        """Read the names that were added since the last call."""
        with self._lock:
            if self._seen == len(self._terms):
                return
            new = [name for name in self._terms.names(self._seen) if name.isalpha()]
            self._seen = len(self._terms)
            recent = [*self._recent, *new]
            if len(recent) > (1 - _SORTED_SHARE) * (len(self._sorted) + len(recent)):
                counted = zip(self._terms.names(), self._terms.numbers_of_rows(), strict=True)
                pairs = sorted((name, rows) for name, rows in counted if name.isalpha())
                self._sorted, self._rows = [name for name, _ in pairs], np.array([rows for _, rows in pairs], np.int64)
                recent = []
            self._recent = recent
            lengths: defaultdict[int, list[str]] = defaultdict(list)
            for word in new:
                lengths[len(word)].append(word)
            for length, own in self._by_length.items():
                lengths[length][:0] = own
            self._by_length = lengths
