"""Verdicts on the documents of a collection that are nearest to a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from semblance_client.vocabulary.responses import RequestWarning, Usage
from semblance_client.vocabulary.same import Verdict

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings, unit_rows
from semblance.models.protocols import Encoder
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.filters import All, Filter, matches
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import Document, PassageKey, Version
from semblance.service.ports.indexes import IndexReader
from semblance.service.ports.paraphrases import Classifiers, ServedClassifier
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.paraphrases.verdicts import READ, verdict
from semblance.service.usecases.search.rescoring import INDEX_MEASURE, PassageScorer
from semblance.service.usecases.text_embedder import InputText, TextEmbedder


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document, and the verdict on the text and that of the document."""

    document: Document
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class JudgedDocuments:
    """Documents, the highest log-odds first, and what they were judged by."""

    documents: Sequence[JudgedDocument]
    encoder: Encoder
    served: ServedClassifier
    version: Version
    warnings: Sequence[RequestWarning]
    usage: Usage


class JudgeNearest:
    """Judges the documents that are nearest to a text by the vectors of the index."""

    def __init__(
        self, collections: Collections, access: CollectionAccess, texts: TextEmbedder, classifiers: Classifiers
    ) -> None:
        self._collections = collections
        self._access = access
        self._texts = texts
        self._classifiers = classifiers

    async def judge(
        self,
        name: str,
        text: str,
        k: int,
        min_version: Version | None,
        asked: Filter | None,
        required: Filter | None = None,
    ) -> JudgedDocuments:
        """Judge the k documents nearest to a text, among those that match two filters.

        A document that was changed since the index saw it is judged by what it is now, and left out if it is gone or no
        longer matches.

        Args:
            name: of the collection.
            text: to judge.
            k: most documents.
            min_version: of the collection.
            asked: filter of the request, with warnings of conditions that no document can meet.
            required: filter without warnings.

        Raises:
            UnknownCollection, SpaceMismatch, VersionMismatch, VersionNotReached, InvalidRequest: see
                semblance.service.errors.
        """
        collection, index = await self._access.current(name, min_version)
        encoder = await self._collections.encoder_of(collection)
        served = classifier_of(self._classifiers, encoder, "/collection")
        query = await self._texts.embed(encoder, [InputText(text, "/text")], "query", "tokens", READ)
        own = query.embeddings[0]
        where = All(tuple(each for each in (required, asked) if each is not None))
        documents = await self._access.search(lambda store: _nearest(store, index, name, own, k, where))
        scorer = PassageScorer(self._access, self._texts, collection, encoder, similarity(INDEX_MEASURE))
        passages = {PassageKey(each.id, 0): each.text for each in documents}
        verdicts = await scorer.of_tokens(documents, passages, lambda other: verdict(served, own, other))
        judged = [JudgedDocument(each, verdicts[PassageKey(each.id, 0)]) for each in documents]
        return JudgedDocuments(
            documents=sorted(judged, key=_by_log_odds),
            encoder=encoder,
            served=served,
            version=index.version,
            warnings=[*query.warnings, *(index.mismatches(asked) if asked else [])],
            usage=Usage(tokens=query.tokens, passages=query.passages),
        )


def classifier_of(classifiers: Classifiers, encoder: Encoder, pointer: str) -> ServedClassifier:
    """The classifier of a model. Raises InvalidRequest if it has none."""
    served = classifiers.get(encoder.space)
    if served is None:
        detail = f"the model {encoder.name} has no paraphrase classifier; use minilm-graded, or multilingual"
        raise InvalidRequest([Problem(pointer, "no_classifier", detail)])
    return served


def _nearest(
    store: DocumentReader, index: IndexReader, name: str, query: TokenEmbeddings, k: int, where: All
) -> list[Document]:
    direction = unit_rows(query.pooled()[None]).astype(np.float32)
    _, [hits] = index.search(direction, k, where if where.parts else None, 1)
    found = store.get(name, [hit.id for hit in hits])
    now = [found[hit.id] for hit in hits if hit.id in found]
    return [document for document in now if matches(where, document.metadata)]


def _by_log_odds(judged: JudgedDocument) -> tuple[float, str]:
    log_odds = judged.verdict.log_odds
    return (np.inf if log_odds is None else -log_odds), judged.document.id
