"""The codes of a query, such as part numbers, and the documents that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap
from semblance_client.vocabulary.terms import CodeTier

from semblance.models.tokenization.terms import Term
from semblance.service.filters import Filter
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.indexes.terms.fusion import FusedRank
from semblance.service.ports.indexes import HybridQuery, code_place

RARE_DOCUMENTS = 3
RARE_SHARE = 0.001  # of the documents
_PASSAGES = 16  # of a document with a code, at most on average; a code in more rows is not rare


@dataclass(frozen=True, slots=True)
class QueryCodes:
    """Codes of a query that order its hits.

    Attributes:
        rows: of the matching documents that have a code, by code.
        documents: of the rows.
        holders: matching documents with a rare code; of codes that many have, a search by terms finds the best ones.
        named: first rows of those that have a code as their id or a whole value of their metadata.
    """

    rows: Mapping[str, BitMap]
    documents: PassageRows
    holders: Sequence[str]
    named: BitMap

    @property
    def found(self) -> bool:
        """Whether any matching document has a code."""
        return any(self.rows.values())

    def tier(self, doc_id: str) -> CodeTier | None:
        """Share of the codes that a document has; None if the query has none."""
        if not self.rows:
            return None
        own = self.documents.of(doc_id)
        found = sum(any(row in rows for row in own) for rows in self.rows.values())
        return "all" if found == len(self.rows) else "some" if found else "none"

    def rows_of(self, doc_id: str) -> list[int]:
        """Rows of a document that have a code."""
        return [row for row in self.documents.of(doc_id) if any(row in rows for rows in self.rows.values())]

    def names(self, doc_id: str) -> bool:
        """Whether a code is the id or a whole value in the metadata of a document."""
        return bool(self.named) and any(row in self.named for row in self.documents.of(doc_id))

    def before(self, ranked: Sequence[FusedRank]) -> list[FusedRank]:
        """Documents with all codes, then with some, then the others; equals stay in order."""
        known = {each.id for each in ranked}
        every = [*ranked, *(FusedRank(doc_id, None, None) for doc_id in self.holders if doc_id not in known)]
        return sorted(every, key=lambda each: code_place(self.tier(each.id), names=self.names(each.id)))


def code_rows(code: Term, query: HybridQuery, documents: PassageRows) -> BitMap:
    """Rows with a code of a query in their text, and first rows of documents that it names."""
    return BitMap(documents.bm25.rows_with(code)) | _rows_named(code, query, documents)


def _rows_named(code: Term, query: HybridQuery, documents: PassageRows) -> BitMap:
    return documents.rows_named(code, query.written(code), alone=query.only_codes)


def query_codes(query: HybridQuery, documents: PassageRows, where: Filter | None) -> QueryCodes:
    """Find the codes of a query that at most three visible documents have, or one in a thousand.

    In a query of nothing but codes, all count, however many documents have them.

    Args:
        query: with its terms, and the documents by which a code is rare.
        documents: of the rows.
        where: documents to find; None is all.
    """
    asked = [term for term in query.terms if term.kind == "code"]
    if not asked:
        return QueryCodes({}, documents, [], BitMap())
    known, allowed = documents.allowed(query.visible), documents.allowed(where)
    most = max(RARE_DOCUMENTS, int(RARE_SHARE * documents.count(known)))
    named = {term.text: _rows_named(term, query, documents) for term in asked}
    rows = {term.text: (BitMap(documents.bm25.rows_with(term)) | named[term.text]) & known for term in asked}
    rare = {
        code: own
        for code, own in rows.items()
        if len(own) <= most * _PASSAGES and documents.count_any(list(own)) <= most
    }
    holders = sorted({documents.document(row) for row in BitMap.union(BitMap(), *rare.values()) & allowed})
    counted = rows if query.only_codes else rare
    return QueryCodes(
        rows={code: own & allowed for code, own in counted.items()},
        documents=documents,
        holders=holders,
        named=BitMap.union(BitMap(), *[named[code] for code in counted]),
    )
