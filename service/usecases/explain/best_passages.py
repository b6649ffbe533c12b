"""The passage by which each of some documents stands where it does in a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from semblance_client.vocabulary.explanation import PassageSpan
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.nearest_passages import score_passages
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.models.tokenization.glossary import Glossary
from semblance.service.errors import TextChanged
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import CutDocuments, PassageKey, Version, unknown_document
from semblance.service.ports.indexes import IndexReader, TermScore
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.turns import in_thread
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.glossaries import glossary_of
from semblance.service.usecases.search.ordering import bonus_of
from semblance.service.usecases.search.params import RESCORED_PASSAGES
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, Truncation, unread_warning


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """A query, and the stored documents to compare with it.

    Attributes:
        text: the query.
        collection: of the documents.
        documents: JSON pointers to their places in the request, by id.
        measure: that scores them.
        truncate: the end at which the query is truncated; None for the model's default.
        by_terms: whether terms count, as in a hybrid search.
    """

    text: InputText
    collection: str
    documents: Mapping[str, str]
    measure: str
    truncate: Truncate | None
    by_terms: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BestPassage:
    """The best passage of a document for a query.

    Attributes:
        id: of the document.
        place: of the passage in the document; None for a document that is not cut.
        tokens: its token vectors.
        terms: of the query that it has, if terms count.
        warnings: about its text.
    """

    id: str
    place: PassageSpan | None
    tokens: TokenEmbeddings
    terms: Sequence[TermScore]
    warnings: Sequence[RequestWarning]

    @property
    def bm25(self) -> float:
        """Its score by those terms."""
        return _bm25(self.terms)


@dataclass(frozen=True, slots=True, eq=False)
class QueriedDocuments:
    """An encoded query, and the best passage of each document in its order, all of one version."""

    encoder: Encoder
    version: Version
    query: TokenEmbeddings
    passages: Sequence[BestPassage]
    warnings: Sequence[RequestWarning]
    glossary: Glossary


@dataclass(frozen=True, slots=True, eq=False)
class _Indexed:
    """Some documents in the index: (p, d) vectors by id, and terms by passage."""

    vectors: Mapping[str, Floats]
    terms: Mapping[PassageKey, Sequence[TermScore]]


class BestPassages:
    """Finds the best passage of documents: the one that makes their score.

    Of a document that is cut, the passages nearest by vector are scored by the measure, as in a search; if terms count,
    also the best ones by terms, and the best passage is the one with the largest sum of score and bonus. A search
    scores those by terms only that are among its candidates.
    """

    def __init__(self, collections: Collections, access: CollectionAccess, texts: TextEmbedder) -> None:
        self._collections = collections
        self._access = access
        self._texts = texts

    async def __call__(self, query: DocumentQuery) -> QueriedDocuments:
        """Encode the query once, and find the best passage of each document.

        Raises:
            UnknownCollection, UnknownDocument, SpaceMismatch, InvalidRequest, WriteConflict: see the errors of service.
        """
        query = replace(query, collection=await self._access.resolve(query.collection))
        names = " or ".join(map(repr, query.documents))
        conflict = f"document {names} was rewritten during the request"
        read, indexed = await retry_on_conflict(lambda: self._read(query), conflict)
        encoder = await self._collections.encoder_of(read.collection)
        own = await self._texts.embed(encoder, [query.text], "query", "tokens", Truncation(query.truncate))
        [vectors] = own.embeddings
        candidates = {doc_id: _candidates(doc_id, read, indexed, vectors) for doc_id in query.documents}
        embedded = await self._embed(query, encoder, read, [key for keys in candidates.values() for key in keys])
        glossary = glossary_of(read.collection)
        values = await in_thread(_values, query.measure, vectors, embedded, indexed, glossary)
        best = [max(keys, key=lambda key: values[key]) for keys in candidates.values()]
        return QueriedDocuments(
            encoder=encoder,
            version=read.collection.version,
            query=vectors,
            passages=[
                BestPassage(
                    id=key.document,
                    place=_place(read, key),
                    tokens=embedded[key],
                    terms=indexed.terms.get(key, ()),
                    warnings=unread_warning(encoder, query.documents[key.document], tokens_of(embedded[key]).unread),
                )
                for key in best
            ],
            warnings=own.warnings,
            glossary=glossary,
        )

    async def _read(self, query: DocumentQuery) -> tuple[CutDocuments, _Indexed]:
        """Read the documents, and what the index has of them as they were read. Raises TextChanged."""
        read = await self._access.read(lambda store: _get(store, query))
        if not (read.spans or query.by_terms):
            return read, _Indexed({}, {})
        _, index = await self._access.current(query.collection, None)
        try:
            return read, await self._access.search(partial(_look_up, index, query, read))
        except TextChanged:
            await self._access.refresh_index(query.collection)
            raise

    async def _embed(
        self, query: DocumentQuery, encoder: Encoder, read: CutDocuments, passages: Sequence[PassageKey]
    ) -> dict[PassageKey, TokenEmbeddings]:
        texts = {key: InputText(text, query.documents[key.document]) for key, text in read.texts(passages).items()}
        cut = [key for key in texts if key.document in read.spans]  # a passage is read whole, however long it is
        tokens = await self._texts.tokenize(encoder, [texts[key] for key in cut], "document", limited=False)
        texts |= {key: texts[key]._replace(tokens=own) for key, own in zip(cut, tokens, strict=True)}
        found = await self._texts.embed(encoder, list(texts.values()), "document", "tokens")
        return dict(zip(texts, found.embeddings, strict=True))


def _get(store: DocumentReader, query: DocumentQuery) -> CutDocuments:
    """The documents of a query. Raises UnknownDocument, UnknownCollection."""
    read = store.get_cut(query.collection, list(query.documents))
    if missing := [doc_id for doc_id in query.documents if doc_id not in read.documents]:
        raise unknown_document(query.collection, *missing, pointers=[query.documents[doc_id] for doc_id in missing])
    return read


def _look_up(index: IndexReader, query: DocumentQuery, read: CutDocuments, store: DocumentReader) -> _Indexed:
    """In a search thread: what the index has of the documents that were read.

    Raises TextChanged: it has them in another state.
    """
    if any(document.version > index.version.number for document in read.documents.values()):
        raise TextChanged
    vectors = index.vectors(list(query.documents))
    passages = [PassageKey(doc_id, number) for doc_id, rows in vectors.items() for number in range(len(rows))]
    asked = glossary_of(read.collection).query_terms(query.text.text) if query.by_terms else []
    terms = index.terms_of(asked, passages) if query.by_terms else {}
    found = _Indexed(vectors, terms)
    # Unchanged in the store after the index was read, they are in the index as they were read before it.
    if _state(_get(store, query)) != _state(read) or not _agrees(found, read):
        raise TextChanged
    return found


def _place(read: CutDocuments, passage: PassageKey) -> PassageSpan | None:
    if passage.document not in read.spans:
        return None
    start, end = read.span(passage)
    part = read.searched(passage.document).part_at(start)
    return PassageSpan(start=start - part.start, end=end - part.start, field=part.field)


def _state(read: CutDocuments) -> tuple[str, str, dict[str, int]]:
    """A value that changes with any write to the documents or their embeddings."""
    versions = {document.id: document.version for document in read.documents.values()}
    return read.collection.version.epoch, read.collection.settings.generation, versions


def _agrees(indexed: _Indexed, read: CutDocuments) -> bool:
    """Whether the index has as many passages of each document as the store."""
    passages = {doc_id: len(read.spans[doc_id]) if doc_id in read.spans else 1 for doc_id in read.documents}
    return {doc_id: len(rows) for doc_id, rows in indexed.vectors.items()} == passages


def _candidates(doc_id: str, read: CutDocuments, indexed: _Indexed, query: TokenEmbeddings) -> list[PassageKey]:
    """The passages of a document that a search would score."""
    if doc_id not in read.spans:
        return [PassageKey(doc_id, 0)]
    nearest = np.argsort(-(indexed.vectors[doc_id] @ query.pooled()), kind="stable")[:RESCORED_PASSAGES]
    by_terms = sorted(
        (key for key, terms in indexed.terms.items() if key.document == doc_id and terms),
        key=lambda key: (-_bm25(indexed.terms[key]), key.number),
    )
    return list(dict.fromkeys([PassageKey(doc_id, int(number)) for number in nearest] + by_terms[:RESCORED_PASSAGES]))


def _values(
    measure: str,
    query: TokenEmbeddings,
    passages: Mapping[PassageKey, TokenEmbeddings],
    indexed: _Indexed,
    glossary: Glossary,
) -> dict[PassageKey, float]:
    """Score and bonus of each passage."""
    scores = score_passages(similarity(measure), query, list(passages.values()), glossary)
    return {
        key: float(score) + bonus_of(_bm25(indexed.terms.get(key, ())))
        for key, score in zip(passages, scores, strict=True)
    }


def _bm25(terms: Sequence[TermScore]) -> float:
    return sum(term.score for term in terms)
