"""Hits of a search, from the index to their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semblance.service.ports.documents import Collection, Document, Version
from semblance.service.ports.indexes import Hit
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.explain import WordLinks


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A document, its score and, if requested, its explanation."""

    document: Document
    score: float
    why: WordLinks | None = None


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Hits of each query in an index of `version`, and warnings about the filter."""

    version: Version
    hits: Sequence[Sequence[Hit]]
    warnings: Sequence[RequestWarning]


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits of each query, ranked by the measure, and their documents as read after the index."""

    index: IndexHits
    hits: Sequence[Sequence[Hit]]
    collection: Collection
    documents: Mapping[str, Document]

    @property
    def complete(self) -> bool:
        """Whether no hit was rewritten or deleted between the index and the store."""
        return len(self._unchanged()) == len(ids_of(self.hits))

    def search_hits(self) -> list[list[SearchHit]]:
        """Hits with their documents, except rewritten ones: their scores are of former texts."""
        documents = self._unchanged()
        return [[SearchHit(documents[hit.id], hit.score) for hit in hits if hit.id in documents] for hits in self.hits]

    def _unchanged(self) -> dict[str, Document]:
        return {doc_id: each for doc_id, each in self.documents.items() if each.version <= self.index.version.number}


def ids_of(hits: Sequence[Sequence[Hit]]) -> list[str]:
    """Ids of the documents of all hits, each once."""
    return list({hit.id for each in hits for hit in each})
