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
class _OfLength:
    """Words of one length, the most frequent first.

    Attributes:
        words: n words.
        rows: (n,) the number of rows that each is in.
        letters: (n,) the set of letters of each, as `_letters` has it.
    """

    words: Sequence[str]
    rows: Numbers
    letters: NDArray[np.uint64]

    @classmethod
    def of(cls, counted: Sequence[tuple[str, int]]) -> _OfLength:
        words = [word for word, _ in counted]
        return cls(words, np.array([rows for _, rows in counted], np.int64), _letters(words))

    def alike(self, letters: NDArray[np.uint64], edits: int, least: int) -> list[str]:
        """Those that `least` rows have, and whose letters some edits of a word can make."""
        count = int(np.searchsorted(-self.rows, -least, side="right"))
        different = np.bitwise_count(self.letters[:count] ^ letters)  # an edit removes a letter, adds one, or both
        return [self.words[at] for at in np.flatnonzero(different <= 2 * edits).tolist()]


def _letters(words: Sequence[str]) -> NDArray[np.uint64]:
    """(n,) the set of letters of words of one length, a bit each; some letters share a bit."""
    points = np.array(words, f"U{len(words[0])}").view(np.uint32).reshape(len(words), -1)
    bits = np.uint64(1) << (points % 64).astype(np.uint64)
    letters: NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return letters


@dataclass(frozen=True, slots=True)
class _Words:
    """Words in order, with the number of their rows, and by length."""

    sorted: Sequence[str] = ()
    rows: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    by_length: Mapping[int, _OfLength] = field(default_factory=dict)

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
            {length: _OfLength.of(own) for length, own in lengths.items()},
        )


class IndexWords:
    """Words without digits among the names of `TermRows`, which may get more but never lose any.

    A word is compared to all of similar length and letters that enough rows have. Thread-safe.
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
        letters = _letters([word])
        for length in range(len(word) - edits, len(word) + edits + 1):
            if own := words.by_length.get(length):
                choices += own.alike(letters, edits, least // _MORE_ROWS)  # rows may have grown since they were counted
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
