"""The words of an index, found by a beginning or with a few typos."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

from semblance.models.tokenization.terms import stems_of, words_of_stem
from semblance.service.indexes.columns.term_rows import TermRows

_LAST = chr(0x10FFFF)  # sorts behind all letters
_GROWTH = 1.1  # of the number of words, after which they are sorted again
_MORE_ROWS = 2  # growth of the number of rows, after which the frequencies are read again

Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Words:
    """Words in order, and by length the most frequent first, with the number of their rows."""

    sorted: Sequence[str] = ()
    rows: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    by_length: dict[int, tuple[Sequence[str], Numbers]] = field(default_factory=dict)

    @classmethod
    def of(cls, terms: TermRows) -> _Words:
        counted = zip(terms.names(), terms.numbers_of_rows(), strict=True)
        pairs = sorted((name, rows) for name, rows in counted if name.isalpha())
        lengths: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        for word, rows in sorted(pairs, key=lambda pair: -pair[1]):
            lengths[len(word)].append((word, rows))
        return cls(
            [word for word, _ in pairs],
            np.array([rows for _, rows in pairs], np.int64),
            {
                length: ([word for word, _ in own], np.array([rows for _, rows in own], np.int64))
                for length, own in lengths.items()
            },
        )


class IndexWords:
    """Words without digits among the names of `TermRows`, which may get more but never lose any.

    A word is compared to all of similar length that enough rows have. Thread-safe.
    """

    def __init__(self, terms: TermRows) -> None:
        self._terms = terms
        self._seen = 0  # names
        self._seen_rows = 0
        self._words = _Words()
        self._recent: Sequence[str] = ()  # not among them yet
        self._by_stem: dict[str, tuple[_Words, Mapping[str, Sequence[str]]]] = {}  # of these words, by language
        self._lock = Lock()

    def near(self, word: str, edits: int, least: int, rows: int) -> list[tuple[str, int]]:
        """Other words within some edits of letters, with the number of edits.

        Args:
            word: without digits.
            edits: the most.
            least: number of rows; words that fewer have may be left out.
            rows: of the index.
        """
        words, recent = self._updated(rows)
        choices = [each for each in recent if abs(len(each) - len(word)) <= edits]
        for length in range(len(word) - edits, len(word) + edits + 1):
            own, having = words.by_length.get(length, ((), np.empty(0, np.int64)))
            # the number of rows may have grown since it was read
            choices += own[: int(np.searchsorted(-having, -(least // _MORE_ROWS), side="right"))]
        if not choices:
            return []
        [found] = process.cdist([word], choices, scorer=OSA.distance, score_cutoff=edits, dtype=np.uint8)
        return [(choices[at], int(found[at])) for at in np.flatnonzero((found > 0) & (found <= edits)).tolist()]

    def of_stem(self, word: str, language: str, rows: int) -> list[str]:
        """Other words that have the stem of one, by the Snowball algorithm of a language."""
        words, recent = self._updated(rows)
        known = self._by_stem.get(language)
        if known is None or known[0] is not words:
            grouped: defaultdict[str, list[str]] = defaultdict(list)
            for each, stem in zip(words.sorted, stems_of(words.sorted, language), strict=True):
                grouped[stem].append(each)
            known = self._by_stem[language] = words, grouped
        [stem] = stems_of([word], language)
        return [each for each in (*known[1].get(stem, ()), *words_of_stem(word, recent, language)) if each != word]

    def beginning(self, prefix: str, most: int, rows: int) -> list[str]:
        """Up to `most` of the words that begin so, those that most rows have first."""
        words, recent = self._updated(rows)
        first, end = bisect_left(words.sorted, prefix), bisect_left(words.sorted, prefix + _LAST)
        found = range(first, end)
        if len(found) > most:
            found = (first + np.argpartition(-words.rows[first:end], most)[:most]).tolist()
        own = [*(words.sorted[at] for at in found), *(word for word in recent if word.startswith(prefix))]
        return nlargest(most, own, key=self._terms.count)

    def _updated(self, rows: int) -> tuple[_Words, Sequence[str]]:
        """All words, and further ones that were added since these were sorted."""
        with self._lock:
            new = [name for name in self._terms.names(self._seen) if name.isalpha()]
            self._seen = len(self._terms)
            self._recent = [*self._recent, *new] if new else self._recent
            known = len(self._words.sorted)
            if known + len(self._recent) > _GROWTH * known or rows > _MORE_ROWS * self._seen_rows:
                self._words, self._recent, self._seen_rows = _Words.of(self._terms), [], rows
            return self._words, self._recent
