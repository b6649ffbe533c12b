"""Hits of a search, from the index to their documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from semblance.models.measures.highlight import Highlight
from semblance.service.ports.documents import CutDocuments, Document, PassageKey, Version
from semblance.service.ports.indexes import HybridHit, PassageHit, TermScore
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.explain.word_links import WordLinks


class ScoredPassage(NamedTuple):
    """First and one-past-last code point of a passage in its document, score and number."""

    start: int
    end: int
    score: float
    number: int


@dataclass(frozen=True, slots=True)
class TermMatch:
    """How the best passage of a document matches a query by its terms.

    Attributes:
        vector_rank: of the document among those nearest by vector, from 1; None if it is not among them.
        term_rank: the same by terms.
        terms: of the query that the passage has; their scores sum to `score`.
        score: by BM25.
        bonus: what the terms add to the measure's score, to order the hits; 0 where they are ordered by terms alone.
    """

    vector_rank: int | None
    term_rank: int | None
    terms: Sequence[TermScore]
    score: float
    bonus: float


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A document with its score, best passages, the value that orders it, and its terms."""

    id: str
    score: float
    passages: Sequence[PassageHit]
    value: float
    match: TermMatch | None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document, its best passages, the score of the best, and why it matches."""

    document: Document
    score: float
    passages: Sequence[ScoredPassage]
    match: TermMatch | None = None
    why: WordLinks | None = None
    highlight: Highlight | None = None

    @property
    def best(self) -> PassageKey:
        """The best passage."""
        return PassageKey(self.document.id, self.passages[0].number)

    @property
    def combined(self) -> float:
        """The score and the bonus of terms, by which hits are ordered except by terms alone."""
        return self.score + (self.match.bonus if self.match else 0.0)

    @property
    def text(self) -> str:
        """Text of the best passage."""
        return self.document.text[self.passages[0].start : self.passages[0].end]

    def explained(self, why: WordLinks) -> SearchHit:
        """The hit with the explanation of its best passage, and the score of that."""
        best = self.passages[0]._replace(score=why.links.score)
        return replace(self, score=best.score, passages=[best, *self.passages[1:]], why=why)


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Candidates of each query in an index of `version`, and warnings about the filter."""

    version: Version
    hits: Sequence[Sequence[HybridHit]]
    warnings: Sequence[RequestWarning]


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits of each query, ranked by the measure, and their documents as read after the index."""

    index: IndexHits
    hits: Sequence[Sequence[RankedHit]]
    read: CutDocuments

    @property
    def complete(self) -> bool:
        """Whether no hit was rewritten or deleted between the index and the store."""
        return len(self._unchanged()) == len(ids_of(self.hits))

    def search_hits(self) -> list[list[SearchHit]]:
        """Hits with their documents, except rewritten ones: their scores are of former texts."""
        documents = self._unchanged()
        return [[self._search_hit(hit, documents[hit.id]) for hit in hits if hit.id in documents] for hits in self.hits]

    def _search_hit(self, hit: RankedHit, document: Document) -> SearchHit:
        passages = [
            ScoredPassage(*self.read.span(PassageKey(hit.id, each.number)), each.score, each.number)
            for each in hit.passages
        ]
        return SearchHit(document, hit.score, passages, hit.match)

    def _unchanged(self) -> dict[str, Document]:
        newest = self.index.version.number
        return {doc_id: each for doc_id, each in self.read.documents.items() if each.version <= newest}


def ids_of(hits: Sequence[Sequence[RankedHit]]) -> list[str]:
    """Ids of the documents of all hits, each once."""
    return list({hit.id for each in hits for hit in each})
