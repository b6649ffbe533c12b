"""Rows by the terms of their texts, scored by BM25: the lexical part of an index."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.tokenization.terms import Kind, Term, document_terms
from semblance.service.indexes.columns.array_file import Array, Pieces, in_one
from semblance.service.indexes.columns.string_numbers import digest
from semblance.service.indexes.columns.term_rows import TermArray, TermRows
from semblance.service.indexes.terms.words import IndexWords
from semblance.service.ports.indexes import TermScore

Rows: TypeAlias = NDArray[np.int64]  # row numbers, ascending
Counts: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]

K1 = 1.2
B = 0.75
COMMON_SHARE = 0.05  # of the rows; a term of more only scores rows that other terms found, where that is exact
MAX_TERMS = 256  # of a query; of more, the rarest are searched
MANY_ROWS = 1000  # more are looked up in an array of all
FEW_SHARE = 0.01  # of the rows; fewer allowed ones are scored one by one
_UINT32, _UINT64 = "I", "Q"  # type codes of arrays
_PART = "\x1f"  # begins the name under which a part of a code is kept, apart from the same word outside of codes


@dataclass(frozen=True, slots=True, eq=False)
class _QueryTerm:
    """A term of a query: its idf, the live rows that have it, and how many times each has."""

    term: Term
    idf: float
    rows: Rows
    counts: Counts

    @property
    def ceiling(self) -> float:
        """A bound of its part of a score."""
        return self.idf * (K1 + 1)

    def counts_in(self, rows: Rows) -> Counts:
        """Number of times that each of some rows has it."""
        if len(rows) > MANY_ROWS:
            every = np.zeros(max(int(self.rows[-1]), int(rows.max())) + 1, np.uint32)
            every[self.rows] = self.counts
            return every[rows]
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[at] == rows, self.counts[at], 0)


@dataclass(frozen=True, slots=True)
class TextTerms:
    """The number of each term of a text, by the name under which it is kept, and its digest."""

    counts: Mapping[str, int]
    digest: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Split a text."""
        return cls(Counter(map(_name, document_terms(text))), digest(text))


class Bm25:
    """Terms of rows, with their frequencies.

    The score of a row of |d| terms for a query is the sum, over the distinct terms of the query, of

        idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * |d| / mean |d|)),   idf = ln(1 + (N - n + 0.5) / (n + 0.5))

    where tf is the number of times that the row has the term, and n of the N rows have it; k1 = 1.2, b = 0.75
    (Robertson and Zaragoza 2009). This idf, of Lucene, is positive for every term. Removed rows count for nothing. Of
    a query with more than `MAX_TERMS` distinct terms, the others count for nothing either.

    Rows are numbered in the order in which they are added. Concurrent reads are safe, but not beside a change.
    """

    def __init__(self) -> None:
        self._terms = TermRows()
        self._words = IndexWords(self._terms)
        self._lengths = array(_UINT32)
        self._digests = array(_UINT64)
        self._live = bytearray()
        self._live_rows = 0
        self._live_terms = 0
        self._looked_up: dict[Term, _QueryTerm] | None = None

    def remembering(self) -> Bm25:
        """The same rows for one search, until the next change: each term is looked up once."""
        view = copy(self)
        view._looked_up = {}  # noqa: SLF001 - its own
        return view

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: TextTerms) -> None:
        """Add the next row."""
        row = len(self)
        self._terms.add(row, text.counts)
        length = sum(text.counts.values())
        self._lengths.append(length)
        self._digests.append(text.digest)
        self._live.append(1)
        self._live_rows += 1
        self._live_terms += length

    def add_removed(self) -> None:
        """Add a row that is removed already."""
        self._lengths.append(0)
        self._digests.append(0)
        self._live.append(0)

    def remove(self, row: int) -> None:
        """Remove a row, which was not removed before."""
        self._live[row] = 0
        self._live_rows -= 1
        self._live_terms -= self._lengths[row]

    def has(self, row: int, text: str) -> bool:
        """Whether a row has this text."""
        return self._digests[row] == digest(text)

    def holds(self, row: int, text: TextTerms) -> bool:
        """Whether a row has this text, and is found under each of its terms with its frequency."""
        if self._digests[row] != text.digest or self._lengths[row] != sum(text.counts.values()):
            return False
        return all(self._terms.count_in(term, row) == count for term, count in text.counts.items())

    @property
    def entries(self) -> int:
        """Number of terms under which live rows are found, each counted once for each row."""
        live = self.live
        return sum(int(np.count_nonzero(live[rows])) for rows in self._terms.all_rows())

    @property
    def live(self) -> Flags:
        """Whether each row is not removed."""
        return np.frombuffer(self._live, np.bool_)

    def information(self, terms: Sequence[Term]) -> float:
        """Sum of the idf of some terms."""
        return sum(each.idf for each in self._query(terms))

    def count(self, word: str) -> int:
        """Number of rows that have a word, removed ones included."""
        return self._terms.count(word)

    def count_live(self, word: str) -> int:
        """Number of rows that have a word, removed ones not included."""
        if self._live_rows < len(self):
            return len(self.rows_with(Term(word, 0, 0)))
        return self._count(Term(word, 0, 0))

    def rows_with(self, term: Term) -> Rows:
        """The rows that have a term of a query."""
        return self._query_term(term).rows

    def rows_with_all(self, words: Sequence[str]) -> Rows:
        """The rows that have all of some words, as terms of a query."""
        first, *others = sorted((self.rows_with(Term(word, 0, 0)) for word in words), key=len)
        for rows in others:
            first = np.intersect1d(first, rows, assume_unique=True)
        return first

    def near(self, word: str, edits: int, least: int = 0) -> list[tuple[str, int]]:
        """Words within some edits of another, with their number; some may be of removed rows only.

        Those that fewer than `least` rows have may be left out.
        """
        return self._words.near(word, edits, least, len(self))

    def beginning(self, prefix: str, most: int) -> list[str]:
        """Up to `most` words that begin so, the most frequent first; see `near`."""
        return self._words.beginning(prefix, most, len(self))

    def best(self, terms: Sequence[Term], k: int, allowed: Rows | None) -> list[tuple[int, float]]:
        """Find the k best of the `allowed` rows (None: all) that have a term.

        Best first, and equals by row, with all that tie with the last. The score of a row does not depend on k.
        """
        query = [each for each in self._query(terms) if len(each.rows)]
        if allowed is not None and len(allowed) <= FEW_SHARE * len(self):
            scores = self._scores(query, allowed)
            return _highest(allowed[scores > 0], scores[scores > 0], k)
        scores = np.zeros(len(self))
        permitted = None if allowed is None else _mask(allowed, len(self))
        for done, term in enumerate(query):
            if done and len(term.rows) > COMMON_SHARE * self._live_rows:
                # What is left adds less than `rest` to any row. If k rows have more already, the best are among
                # those that `rest` can lift above the k-th.
                rest = sum(each.ceiling for each in query[done:])
                reached = _kth(scores if permitted is None else scores[permitted], k)
                if rest < reached:
                    rows = np.flatnonzero(scores + rest >= reached)
                    return _highest(rows, self._scores(query, rows), k, permitted)
            scores[term.rows] += self._part(term, term.counts, term.rows)
        rows = np.flatnonzero(scores)
        return _highest(rows, scores[rows], k, permitted)

    def explain(self, terms: Sequence[Term], rows: Sequence[int]) -> list[list[TermScore]]:
        """The terms of a query that each row has, with their parts of its score."""
        numbers = np.array(rows, np.int64)
        found: list[list[TermScore]] = [[] for _ in rows]
        for term in self._query(terms):
            if not len(term.rows):
                continue
            counts = term.counts_in(numbers)
            parts = self._part(term, counts, numbers)
            for i in np.flatnonzero(counts):
                found[i].append(TermScore(term.term, term.idf, int(counts[i]), float(parts[i])))
        return found

    def pieces(self) -> Mapping[str, Pieces]:
        """The arrays to save."""
        return {
            **self._terms.pieces(),
            "lengths": in_one(np.array(self._lengths, np.uint32)),
            "digests": in_one(np.array(self._digests, np.uint64)),
            "live": in_one(np.frombuffer(bytes(self._live), np.uint8)),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Self:
        """Inverse of `pieces`. Raises KeyError."""
        loaded = cls()
        loaded.adopt(arrays)
        loaded._lengths = array(_UINT32, arrays["lengths"].tobytes())
        loaded._digests = array(_UINT64, arrays["digests"].tobytes())
        loaded._live = bytearray(arrays["live"].tobytes())
        live = arrays["live"].astype(np.bool_)
        loaded._live_rows = int(live.sum())
        loaded._live_terms = int(arrays["lengths"][live].sum(dtype=np.int64))
        return loaded

    def adopt(self, arrays: Mapping[str, Array]) -> None:
        """Read the terms from arrays that were saved, not from memory."""
        self._terms = TermRows(arrays)
        self._words = IndexWords(self._terms)

    def _query(self, terms: Sequence[Term]) -> list[_QueryTerm]:
        """The rarest terms of a query, in order; those that no row has are left out first."""
        if len(terms) > MAX_TERMS:
            terms = sorted(terms, key=lambda term: self._count(term) or math.inf)[:MAX_TERMS]
        query = [self._query_term(term) for term in terms]
        return sorted(query, key=lambda each: len(each.rows))

    def _count(self, term: Term) -> int:
        """Number of rows found by a term of a query, removed ones and alternatives included."""
        return sum(map(self._terms.count, _names_found(term.text, term.kind))) + sum(
            min(self._terms.count(word) for word in phrase) for phrase in term.alternatives
        )

    def _query_term(self, term: Term) -> _QueryTerm:
        if self._looked_up is None:
            return self._look_up(term)
        if term not in self._looked_up:
            self._looked_up[term] = self._look_up(term)
        return self._looked_up[term]

    def _look_up(self, term: Term) -> _QueryTerm:
        alternatives = [_common([self._with_word(word) for word in phrase]) for phrase in term.alternatives]
        if term.stems:
            stems = self._words.of_stem(term.text, term.stems, len(self))
            alternatives += [self._with_word(word) for word in stems if (word,) not in term.alternatives]
        found, counts = _merged([self._with_word(term.text, term.kind), *alternatives])
        rows = found.astype(np.int64)
        if self._live_rows < len(self):
            live = self.live[rows]
            rows, counts = rows[live], counts[live]
        idf = math.log(1 + (self._live_rows - len(rows) + 0.5) / (len(rows) + 0.5))
        return _QueryTerm(term, idf, rows, counts)

    def _with_word(self, word: str, kind: Kind = "word") -> tuple[TermArray, TermArray]:
        """The rows that a word of a query finds, and how many times each has it."""
        return _merged([self._terms.of(name) for name in _names_found(word, kind)])

    def _scores(self, query: Sequence[_QueryTerm], rows: Rows) -> Doubles:
        scores = np.zeros(len(rows))
        for term in query:
            scores += self._part(term, term.counts_in(rows), rows)
        return scores

    def _part(self, term: _QueryTerm, counts: Counts, rows: Rows) -> Doubles:
        """Contribution of a term to the scores of rows that have it `counts` times."""
        lengths = np.frombuffer(self._lengths, np.uint32)[rows]
        mean = self._live_terms / self._live_rows
        tf = counts.astype(np.float64)
        part: Doubles = term.idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths / mean))
        return part


def _name(term: Term) -> str:
    """Under which a term of a document is kept."""
    return _PART + term.text if term.kind == "part" else term.text


def _names_found(word: str, kind: Kind) -> Sequence[str]:
    """The names that a term of a query finds, as `Term.finds` says."""
    return [word] if kind == "part" else [word, _PART + word]


def _merged(lists: Sequence[tuple[TermArray, TermArray]]) -> tuple[TermArray, TermArray]:
    """Ascending rows of several lists, with the sum of their counts."""
    longest, *others = sorted(lists, key=lambda each: -len(each[0]))
    for each in others:
        if len(each[0]):
            longest = _with(longest, each)
    return longest


def _with(one: tuple[TermArray, TermArray], other: tuple[TermArray, TermArray]) -> tuple[TermArray, TermArray]:
    """Two lists as one; the second is the shorter one, as a rule by far."""
    (rows, counts), (more, of_more) = one, other
    at = np.searchsorted(rows, more)
    new = rows[np.minimum(at, len(rows) - 1)] != more
    counts = counts.copy()
    counts[at[~new]] += of_more[~new]
    return np.insert(rows, at[new], more[new]), np.insert(counts, at[new], of_more[new])


def _common(lists: Sequence[tuple[TermArray, TermArray]]) -> tuple[TermArray, TermArray]:
    """Ascending rows that all of several lists have, with the least of their counts."""
    rows, counts = lists[0]
    for others, of_others in lists[1:]:
        rows, here, there = np.intersect1d(rows, others, assume_unique=True, return_indices=True)
        counts = np.minimum(counts[here], of_others[there])
    return rows, counts


def _highest(
    rows: Rows, scores: Doubles, k: int, permitted: NDArray[np.bool_] | None = None
) -> list[tuple[int, float]]:
    """The k rows of highest score, of the permitted ones, and all that tie with the last."""
    if permitted is not None:
        rows, scores = rows[permitted[rows]], scores[permitted[rows]]
    if len(rows) > k:
        enough = scores >= np.partition(scores, -k)[-k]
        rows, scores = rows[enough], scores[enough]
    order = np.lexsort((rows, -scores))
    return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))


def _kth(scores: Doubles, k: int) -> float:
    """The k-th highest positive score; 0 if there are fewer."""
    positive = scores[scores > 0]
    return 0.0 if len(positive) < k else float(np.partition(positive, -k)[-k])


def _mask(rows: Rows, count: int) -> Flags:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
