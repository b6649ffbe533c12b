"""Words and values of an index that begin with what someone types."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest, nsmallest

from semblance.models.tokenization.terms import Term
from semblance.service.filters import Filter
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.ports.indexes import WordInDocument

_TRIED = 100  # words, those that most passages have, to find those of the matching documents
_SPARE = 2  # words looked up per suggestion: some may be in removed documents only


def words_beginning(prefix: str, documents: PassageRows, where: Filter | None, k: int) -> list[WordInDocument]:
    """The k words that most passages of matching documents have, each with such a document."""
    allowed, tried = documents.mask(where), _TRIED if where else _SPARE * k
    found: list[tuple[int, str, int]] = []
    for word in documents.bm25.beginning(prefix, tried):
        rows = documents.bm25.rows_with(Term(word, 0, 0))
        if len(rows := rows[allowed[rows]]):
            found.append((len(rows), word, int(rows[0])))
    best = nlargest(k, found, key=lambda each: (each[0], -len(each[1])))
    return [WordInDocument(word, documents.document(row)) for _, word, row in best]


def values_beginning(
    field: str, starts: Sequence[str], documents: PassageRows, where: Filter | None, k: int
) -> list[str]:
    """The k strings in a metadata field that most matching documents have, equals by alphabet."""
    counts = documents.values_beginning(field, starts, where)
    return [value for value, _ in nsmallest(k, counts.items(), key=lambda each: (-each[1], each[0]))]
