"""Store the documents of a request, and report stored ones that are similar."""

from __future__ import annotations

from semblance_client.vocabulary.documents import (
    ConditionalDocument,
    DocumentsRequest,
    IfSimilar,
    NewDocument,
    SimilarDocument,
    Stored,
)
from semblance_client.vocabulary.responses import Usage

from semblance.service.errors import (
    IndexUnavailable,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.ports.documents import Document, EmbeddedDocument, GivenEmbedding, Version
from semblance.service.usecases.documents.duplicates import FindDuplicates
from semblance.service.usecases.documents.index import IndexDocuments
from semblance.service.usecases.request_fields import RequestLimits, requested_versions, require_at_most

_WITHOUT_INDEX = (IndexUnavailable, StoreUnavailable, UnknownCollection, VersionMismatch, VersionNotReached)


class StoreDocuments:
    """Stores documents in one transaction, all or none."""

    def __init__(self, index: IndexDocuments, duplicates: FindDuplicates, limits: RequestLimits) -> None:
        self._index = index
        self._duplicates = duplicates
        self._limits = limits

    async def store(self, name: str, request: DocumentsRequest) -> Stored:
        """Store documents, replacing those of the same ids.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest, WriteConflict, DocumentChanged, VersionMismatch: see
                semblance.service.errors.
        """
        require_at_most("/documents", len(request.documents), self._limits.max_documents, "documents")
        documents = [document_of(document) for document in request.documents]
        result = await self._index.store(name, documents, _conditions(request.documents))
        ids = [document.id for document in documents]
        return Stored(
            upserted=result.upserted,
            version=str(result.version),
            truncated=list(result.truncated),
            similar=request.if_similar and await self._similar(name, result.version, ids, request.if_similar),
            warnings=result.warnings,
            usage=Usage(tokens=result.tokens),
        )

    async def _similar(
        self, name: str, version: Version, ids: list[str], wanted: IfSimilar
    ) -> list[SimilarDocument] | None:
        """Documents similar to those just stored; None if these are not here yet, or gone again."""
        try:
            found = await self._duplicates.similar(name, version, ids, wanted.min_score, wanted.most)
        except _WITHOUT_INDEX:  # the documents are stored, whatever follows
            return None
        return [
            SimilarDocument(id=stored, like=near.id, score=near.score)
            for stored, neighbors in found.items()
            for near in neighbors
        ]


def document_of(new: NewDocument) -> Document:
    """The document to store, with its embedding if it is given."""
    if new.embedding is None:
        return Document(new.id, new.text, new.metadata)
    given = GivenEmbedding(new.embedding.space, new.embedding.vector, new.embedding.codes, new.embedding.code_error)
    return EmbeddedDocument(new.id, new.text, new.metadata, given=given)


def _conditions(documents: list[ConditionalDocument]) -> dict[str, Version]:
    """The versions since which documents must not have changed, by id. Raises InvalidRequest."""
    versions = requested_versions([document.if_version for document in documents])
    return {document.id: version for document, version in zip(documents, versions, strict=True) if version is not None}
