"""Change the metadata of documents, without their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semblance_client.vocabulary.documents import Changed, MetadataRequest
from semblance_client.vocabulary.fields import MAX_METADATA_CHARS, metadata_too_large

from semblance.service.errors import DocumentChanged, InvalidRequest, OptimisticConflict, Problem
from semblance.service.ports.document_store import DocumentWriter
from semblance.service.ports.documents import Document, Metadata, Version, Write, unknown_document
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.usecases.documents.index import check_distinct
from semblance.service.usecases.request_fields import RequestLimits, requested_versions, require_at_most

ATTEMPTS = 100  # of a change that other replicas, or threads of a database, may come before: it encodes nothing


@dataclass(frozen=True, slots=True)
class MetadataChange:
    """Fields of a document to set and to remove, if it has not changed since `if_version`."""

    id: str
    values: Metadata
    removed: Sequence[str]
    if_version: Version | None = None

    def applied(self, metadata: Metadata) -> Metadata:
        """The metadata after the change."""
        return {field: value for field, value in {**metadata, **self.values}.items() if field not in self.removed}


class ChangeMetadata:
    """Sets and removes metadata of documents, all or none. Nothing is encoded."""

    def __init__(self, access: CollectionAccess, limits: RequestLimits) -> None:
        self._access = access
        self._limits = limits

    async def change(self, name: str, request: MetadataRequest) -> Changed:
        """Change documents in one transaction.

        Raises:
            UnknownCollection, UnknownDocument, InvalidRequest, DocumentChanged, VersionMismatch, WriteConflict: see
                semblance.service.errors.
        """
        require_at_most("/documents", len(request.documents), self._limits.max_documents, "documents")
        versions = requested_versions([change.if_version for change in request.documents])
        changes = [
            MetadataChange(change.id, change.metadata, change.remove, version)
            for change, version in zip(request.documents, versions, strict=True)
        ]
        check_distinct([change.id for change in changes])
        version = await retry_on_conflict(
            lambda: self._access.write(name, lambda store: _change(store, name, changes)),
            "other writers kept changing the same documents",
            ATTEMPTS,
        )
        return Changed(changed=len(changes), version=str(version))


def _change(store: DocumentWriter, name: str, changes: Sequence[MetadataChange]) -> Version:
    """Make one attempt: read documents, and write them if they have not changed."""
    collection, stored = store.get_at(name, [each.id for each in changes])
    _check(collection.version, name, changes, stored)
    writes = []
    for change in changes:
        document = Document(change.id, stored[change.id].text, change.applied(stored[change.id].metadata))
        writes.append(Write(document, None, if_version=change.if_version or collection.version))
    _check_sizes(writes)
    _check_searched(writes, stored, collection.settings.text_fields)
    try:
        return store.upsert(collection, writes)
    except DocumentChanged as error:  # since the read; the next attempt sees whether it is since `if_version`
        raise OptimisticConflict from error


def _check(now: Version, name: str, changes: Sequence[MetadataChange], stored: Mapping[str, Document]) -> None:
    """Raise UnknownDocument, DocumentChanged."""
    if missing := {f"/documents/{i}/id": each.id for i, each in enumerate(changes) if each.id not in stored}:
        raise unknown_document(name, *missing.values(), pointers=list(missing))
    changed = [
        change.id for change in changes if change.if_version and _is_later(stored[change.id], change.if_version, now)
    ]
    if changed:
        raise DocumentChanged(f"{', '.join(map(repr, changed))} changed since if_version: read again, and retry")


def _is_later(document: Document, version: Version, now: Version) -> bool:
    """Whether a document has changed since a version; of another epoch, the store will say so."""
    return version.epoch == now.epoch and document.version > version.number


def _check_searched(writes: Sequence[Write], stored: Mapping[str, Document], text_fields: Sequence[str]) -> None:
    """Raise InvalidRequest if a field that is searched as text would change."""
    problems = [
        Problem(
            f"/documents/{i}/metadata",
            "text_field",
            f"{field!r} is searched as text in this collection: store the whole document again to change it",
        )
        for i, write in enumerate(writes)
        for field in text_fields
        if write.document.searched([field]) != stored[write.document.id].searched([field])
    ]
    if problems:
        raise InvalidRequest(problems)


def _check_sizes(writes: Sequence[Write]) -> None:
    """Raise InvalidRequest."""
    problems = [
        Problem(
            f"/documents/{i}/metadata",
            "metadata_too_large",
            f"with those that are stored it has more than {MAX_METADATA_CHARS:,} characters as JSON",
        )
        for i, write in enumerate(writes)
        if metadata_too_large(write.document.metadata)
    ]
    if problems:
        raise InvalidRequest(problems)
