"""Words of an index in place of words of a query: without a typo, or completed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from semblance.models.tokenization.terms import Term
from semblance.service.filters import Filter
from semblance.service.indexes.passage_rows import PassageRows

ONE_EDIT = 5  # letters of a word of the documents that is found with one typo
TWO_EDITS = 9  # the same with two
TIMES = 50  # a typo that some passages have needs a word with more than this many times the passages
MAX_CORRECTED = 8  # words of a query: one with more is in another language
MIN_PREFIX = 2  # letters of the beginning of a word
_TRIED = 100  # words that begin so: those that most passages have


def corrections(
    terms: Sequence[Term], documents: PassageRows, where: Filter | None, prefix: Term | None
) -> Mapping[Term, str]:
    """Words of matching documents in place of rare ones of a query.

    From a word of five letters, that of the query may differ by an insertion, a deletion, a replacement or a swap of
    two letters, from one of nine by two. Of several, the one with the fewest differences is taken, and of those the
    one that most passages have.

    Args:
        terms: of a query.
        documents: of the rows.
        where: documents to search; None is all.
        prefix: the word of the query that may be the beginning of one; None if there is none.
    """
    allowed = None if where is None else documents.mask(where)

    def passages(word: str) -> int:
        if allowed is None:
            return documents.bm25.count_live(word)
        return int(np.count_nonzero(allowed[documents.bm25.rows_with(Term(word, 0, 0))]))

    found: dict[Term, str] = {}
    for term in terms:
        stays = term.kind != "word" or not term.text.isalpha() or term.alternatives or _has_stem(term, documents)
        if not stays and (word := _read_as(term, documents, passages, prefix)):
            found[term] = word
            if len(found) > MAX_CORRECTED:
                return {}
    return found


def _has_stem(term: Term, documents: PassageRows) -> bool:
    """Whether the stem of a word, where stems count, is that of a word of the documents."""
    return bool(term.stems) and len(documents.bm25.rows_with(term)) > 0


def _read_as(term: Term, documents: PassageRows, passages: Callable[[str], int], prefix: Term | None) -> str | None:
    """The word in place of another; None if that stays."""
    having = passages(term.text)
    if term == prefix and not having and len(term.text) >= MIN_PREFIX:
        whole = max(documents.bm25.beginning(term.text, _TRIED), key=passages, default=term.text)
        if passages(whole):
            return whole
    if TIMES * having >= len(documents):  # then no word has enough passages
        return None
    letters = len(term.text)
    edits = 2 if letters >= TWO_EDITS - 2 else 1
    near = documents.bm25.near(term.text, edits, TIMES * having) if letters >= ONE_EDIT - 1 else []
    alike = [(-edits, passages(word), word) for word, edits in near if len(word) >= (ONE_EDIT, TWO_EDITS)[edits - 1]]
    return max((each for each in alike if each[1] > TIMES * having), default=(0, 0, None))[2]
