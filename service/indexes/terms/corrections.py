"""Words of an index in place of words of a query: without a typo, or completed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import ne

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.tokenization.terms import Term
from semblance.service.filters import Filter
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.indexes.terms.bm25 import Rows

ONE_EDIT = 5  # letters of a word of the documents that is found with one typo
TWO_EDITS = 9  # the same with two
TIMES = 50  # a typo that some passages have needs a word with more than this many times the passages
MAX_CORRECTED = 8  # words of a query: one with more is in another language
# of English and German, apart from those that are further from each other than a typo, such as enable and disable
PREFIXES = ("", "a", "be", "de", "e", "em", "en", "er", "ge", "il", "im", "in", "ir", "re", "un")
MIN_PREFIX = 2  # letters of the beginning of a word
_TRIED = 100  # words that begin so: those that most passages have


def corrections(
    terms: Sequence[Term], documents: PassageRows, where: Filter | None, prefix: Term | None
) -> Mapping[Term, str]:
    """Words of matching documents in place of rare ones of a query.

    From a word of five letters, that of the query may differ by an insertion, a deletion, a replacement or a swap of
    two letters, from one of nine by two. With another first letter it is seldom a typo and often another word: then it
    has six letters or more, and differs by one, but not by a prefix. Of several, the one with the fewest differences is
    taken, and of those the one that stands most often beside the query's other words.

    Args:
        terms: of a query.
        documents: of the rows.
        where: documents to search; None is all.
        prefix: the word of the query that may be the beginning of one; None if there is none.
    """
    words = _MatchingWords(terms, documents.remembering(), where)
    found: dict[Term, str] = {}
    for term in terms:
        stays = term.kind != "word" or not term.text.isalpha() or term.alternatives or words.has_stem(term)
        if not stays and (word := words.read_as(term, is_prefix=term == prefix)):
            found[term] = word
            if len(found) > MAX_CORRECTED:
                return {}
    return found


class _MatchingWords:
    """The words of matching documents, as a query needs them."""

    def __init__(self, terms: Sequence[Term], documents: PassageRows, where: Filter | None) -> None:
        self._terms = terms
        self._documents = documents
        self._allowed = None if where is None else documents.mask(where)

    def has_stem(self, term: Term) -> bool:
        """Whether the stem of a word, where stems count, is that of a word of the documents."""
        return bool(term.stems) and len(self._documents.bm25.rows_with(term)) > 0

    def read_as(self, term: Term, *, is_prefix: bool) -> str | None:
        """The word in place of another, which may be the beginning of it; None if that stays."""
        having, bm25 = self._passages(term.text), self._documents.bm25
        if is_prefix and not having and len(term.text) >= MIN_PREFIX:
            whole = max(bm25.beginning(term.text, _TRIED), key=self._passages, default=term.text)
            if self._passages(whole):
                return whole
        least, letters = TIMES * having, len(term.text)
        if least >= len(self._documents) or letters < ONE_EDIT - 1:  # no candidate can qualify
            return None
        near = bm25.near(term.text, 2 if letters >= TWO_EDITS - 2 else 1, least)
        long = [(edits, word) for word, edits in near if len(word) >= (ONE_EDIT, TWO_EDITS)[edits - 1]]
        likely = [(edits, word) for edits, word in long if _is_likely(term.text, word, edits)]
        alike = [(edits, word) for edits, word in likely if self._passages(word) > least]
        fewest = min((edits for edits, _ in alike), default=0)
        nearest = [word for edits, word in alike if edits == fewest]
        return max(nearest, key=self._rank) if len(nearest) > 1 else next(iter(nearest), None)

    def _passages(self, word: str) -> int:
        return self._documents.bm25.count_live(word) if self._allowed is None else len(self._rows(Term(word, 0, 0)))

    def _rows(self, term: Term) -> Rows:
        rows = self._documents.bm25.rows_with(term)
        return rows if self._allowed is None else rows[self._allowed[rows]]

    def _rank(self, word: str) -> tuple[float, int, str]:
        """Nearness to the query's other words, as `_shares` has it, and what breaks ties."""
        return float(self._shares[self._rows(Term(word, 0, 0))].sum()), self._passages(word), word

    @cached_property
    def _shares(self) -> Doubles:
        """(rows,) sum of 1 / n over the words of the query that a row has, each in n rows.

        Summed over the rows of another word, this is the share of each word's rows that have it, in all.
        """
        shares = np.zeros(len(self._documents))
        for term in self._terms:
            rows = self._rows(term)
            shares[rows] += 1 / max(1, len(rows))
        return shares


def _is_likely(typed: str, word: str, edits: int) -> bool:
    """Whether a word was meant: another first letter or two replaced ones make another word."""
    if typed[0] != word[0]:
        return edits == 1 and len(typed) > ONE_EDIT and not _without_prefix(typed) & _without_prefix(word)
    return edits == 1 or len(typed) != len(word) or sum(map(ne, typed, word)) != edits


def _without_prefix(word: str) -> set[str]:
    return {word[len(prefix) :] for prefix in PREFIXES if word.startswith(prefix)}
