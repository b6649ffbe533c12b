"""Ranked hits of a search, from the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.ports.documents import CutDocuments, Document, Version
from semblance.service.ports.indexes import HybridHit, PassageHit, TermScore


@dataclass(frozen=True, slots=True)
class RankedTerms:
    """The match of a document's best passage and a query by their terms.

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
    terms: RankedTerms | None


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
        return len(self.unchanged) == len(ids_of(self.hits))

    @property
    def unchanged(self) -> dict[str, Document]:
        """The documents of hits that were not rewritten since the index was read, by id."""
        newest = self.index.version.number
        return {doc_id: document for doc_id, document in self.read.documents.items() if document.version <= newest}


def ids_of(hits: Sequence[Sequence[RankedHit]]) -> list[str]:
    """Ids of the documents of all hits, each once."""
    return list({hit.id for each in hits for hit in each})
