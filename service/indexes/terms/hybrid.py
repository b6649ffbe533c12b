"""Searches by vectors and by terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice, repeat

from semblance.models.embeddings import Floats
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.terms import Term
from semblance.service.filters import Filter
from semblance.service.indexes.nearest import NearestDocuments
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.indexes.postings import row_numbers
from semblance.service.indexes.terms.bm25 import Rows
from semblance.service.indexes.terms.fusion import FusedRank, fused_ranks
from semblance.service.indexes.terms.query_codes import code_rows, query_codes
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import Hit, HybridHit, HybridHits, HybridPassage, HybridQuery

MATCHED_DOCUMENTS = 10  # best ones by terms, of which one must have enough of the query


@dataclass(frozen=True, slots=True)
class HybridSearch:
    """Candidates by vectors and terms, with the terms of each.

    Attributes:
        documents: of the rows.
        nearest: which scores the passages.
        passages: of each list, for a document.
    """

    documents: PassageRows
    nearest: NearestDocuments
    passages: int

    def search(
        self, query: HybridQuery, k: int, where: Filter | None, by_vector: Sequence[Hit], version: Version
    ) -> HybridHits:
        """Find k matching documents by codes, by vectors and by terms.

        Args:
            query: its vector and terms.
            k: number of documents.
            where: None matches all documents.
            by_vector: the k nearest ones.
            version: of the index.
        """
        codes = query_codes(query, self.documents, where)
        by_terms = self.documents.best_by_terms(query.terms, k, where)
        matched = self._matched(query, by_terms)
        terms = query.terms if codes.found or matched >= query.min_share else ()
        near = {hit.id: hit for hit in by_vector}
        ranked = codes.before(fused_ranks(list(near), list(by_terms) if terms else []))[:k]
        rows = [
            self._rows_to_score(
                query.vector, each, near.get(each.id), [*codes.rows_of(each.id), *by_terms.get(each.id, ())]
            )
            for each in ranked
        ]
        flat = [row for each in rows for row in each]
        scores = self.nearest.scores(query.vector, flat)
        terms_of = self.documents.terms(terms, flat) if terms else repeat(None)
        scored = map(HybridPassage, map(self.documents.number, flat), scores, terms_of)
        hits = [
            HybridHit(
                id=each.id,
                vector_rank=each.vector_rank,
                term_rank=each.term_rank,
                passages=list(islice(scored, len(own))),
                codes=codes.tier(each.id),
                named=codes.names(each.id),
            )
            for each, own in zip(ranked, rows, strict=True)
        ]
        unknown = bool(codes.rows) and not codes.found and not self._says_more(query.terms, where)
        return HybridHits(version, hits, list(codes.rows), self._missing(query, where), matched, unknown)

    def _says_more(self, terms: Sequence[Term], where: Filter | None) -> bool:
        """Whether a query has a word that some matching passages have, but less than half of them."""
        allowed = self.documents.mask(where)
        words = [term for term in terms if term.kind not in ("code", "part")]
        content = compress(words, say_much([term.text for term in words]))
        having = (int(allowed[self.documents.bm25.rows_with(term)].sum()) for term in content)
        return any(0 < passages < allowed.sum() / 2 for passages in having)

    def _missing(self, query: HybridQuery, where: Filter | None) -> list[Term]:
        """The words and codes of a query that no matching document has."""
        words = [term for term in query.terms if term.kind in ("word", "code")]
        asked = ((term, self._rows_with(term, query)) for term in words)
        if where is None:
            return [term for term, rows in asked if not len(rows)]
        allowed = self.documents.mask(where)
        return [term for term, rows in asked if not allowed[rows].any()]

    def _rows_with(self, term: Term, query: HybridQuery) -> Rows:
        if term.kind == "code":
            return row_numbers(code_rows(term, query, self.documents))
        return self.documents.bm25.rows_with(term)

    def _matched(self, query: HybridQuery, by_terms: Mapping[str, Sequence[int]]) -> float:
        """Largest share of the query that one of the best documents by terms has."""
        rows = [own[0] for own in islice(by_terms.values(), MATCHED_DOCUMENTS)]
        return self.documents.matched_share(query.terms, rows) if rows else 0.0

    def _rows_to_score(
        self, query: Floats, document: FusedRank, near: Hit | None, by_terms: Sequence[int]
    ) -> list[int]:
        """The nearest rows of a document, and those with its codes and terms, the best first."""
        rows = self.documents.of(document.id)
        if len(rows) == 1:
            return list(rows)
        hit = near or self.nearest.with_passages(query, Hit(document.id, 0.0, []), self.passages)
        return list(dict.fromkeys([*(rows[each.number] for each in hit.passages), *by_terms[: self.passages]]))
