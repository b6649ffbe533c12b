"""Ranked hits of a search, from the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from semblance_client.vocabulary.responses import RequestWarning
from semblance_client.vocabulary.terms import CodeTier

from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.terms import Term
from semblance.service.ports.documents import CutDocuments, Document, Version
from semblance.service.ports.indexes import (
    Changes,
    Hit,
    HybridHit,
    HybridHits,
    HybridPassage,
    PassageHit,
    TermScore,
    code_place,
)


@dataclass(frozen=True, slots=True)
class RankedTerms:
    """The match of a document's best passage and a query by their terms.

    Attributes:
        vector_rank: of the document among those nearest by vector, from 1; None if it is not among them.
        term_rank: the same by terms.
        terms: of the query that the passage has; their scores sum to `score`.
        score: by BM25.
        bonus: what the terms add to the measure's score, to order the hits; 0 where they are ordered by terms alone.
        codes: how many of the codes of the query the document has; None if there are none.
        named: whether a code is the id, or a whole value in the metadata, of the document.
    """

    vector_rank: int | None
    term_rank: int | None
    terms: Sequence[TermScore]
    score: float
    bonus: float
    codes: CodeTier | None
    named: bool


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A document with its score, best passages and terms.

    `value` orders those of equal codes; `weighted` is the part of it that the weight of a text field adds.
    """

    id: str
    score: float
    passages: Sequence[PassageHit]
    value: float
    terms: RankedTerms | None
    weighted: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Candidates of each query in an index, and warnings about the filter.

    `changes` are those of the index before the first query.
    """

    found: Sequence[HybridHits]
    warnings: Sequence[RequestWarning]
    changes: Changes

    @property
    def ids(self) -> list[str]:
        """Ids of the documents of all candidates, each once."""
        return list({hit.id for each in self.found for hit in each.hits})

    @property
    def version(self) -> Version:
        """Version of the index when the first query was searched."""
        return self.found[0].version


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits of each query, ranked by the measure, and their documents as read after the index."""

    index: IndexHits
    hits: Sequence[Sequence[RankedHit]]
    read: CutDocuments

    @property
    def complete(self) -> bool:
        """Whether no hit was rewritten or deleted between the index and the store."""
        return self.unchanged.keys() >= set(ids_of(self.hits))

    @property
    def newer(self) -> CutDocuments:
        """The documents of hits that have a later version than the index had."""
        newest = self.index.version.number
        later = {doc_id: each for doc_id, each in self.read.documents.items() if each.version > newest}
        return replace(self.read, documents=later)

    def with_unchanged(self, ids: Sequence[str]) -> RankedHits:
        """The same, where nothing of some documents is new but their version."""
        newest, documents = self.index.version.number, self.read.documents
        same = {doc_id: replace(documents[doc_id], version=newest) for doc_id in ids}
        return replace(self, read=replace(self.read, documents={**documents, **same}))

    @property
    def unchanged(self) -> dict[str, Document]:
        """The documents of hits that were not rewritten since the index was read, by id."""
        newest = self.index.version.number
        return {doc_id: document for doc_id, document in self.read.documents.items() if document.version <= newest}


def codes_rank(terms: RankedTerms | None) -> int:
    """Place of a hit by its codes, before anything else orders it."""
    return code_place(terms.codes if terms else None, names=terms is not None and terms.named)


def ids_of(hits: Sequence[Sequence[RankedHit]]) -> list[str]:
    """Ids of the documents of all hits, each once."""
    return list({hit.id for each in hits for hit in each})


def missing_terms(query: str, asked: Sequence[Term], missing: Sequence[Term]) -> list[str]:
    """Missing terms as the query has them, without function words, of those asked for."""
    content = dict(zip(asked, say_much([query[term.start : term.end] for term in asked]), strict=True))
    return [query[term.start : term.end] for term in missing if content[term]]


def by_vector(version: Version, hits: Sequence[Hit]) -> HybridHits:
    """Hits of a search by vectors alone."""
    found = [
        HybridHit(hit.id, rank, None, [HybridPassage(each.number, each.score, None) for each in hit.passages])
        for rank, hit in enumerate(hits, 1)
    ]
    return HybridHits(version, found, codes=(), missing=(), matched=0.0)
