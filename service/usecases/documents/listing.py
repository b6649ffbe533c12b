"""List documents by a filter, in the order of a metadata field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance.service.ports.documents import Document, DocumentStore, Version
from semblance.service.ports.indexes import Listed, Selection
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning

ATTEMPTS = 5  # to read documents as the index has them


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """Documents in order."""

    version: Version
    documents: Sequence[Document]
    warnings: Sequence[RequestWarning]


class ListDocuments:
    """Selects documents by the index, and reads them from the store."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def __call__(self, name: str, selection: Selection, min_version: Version | None) -> ListedDocuments:
        """List documents. Of those that change meanwhile, some may be left out.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        _, index = await self._access.current(name, min_version)

        def read(store: DocumentStore) -> tuple[Listed, list[Document]]:
            listed = index.select(selection)
            documents = store.get(name, listed.ids)
            found = [documents[doc_id] for doc_id in listed.ids if doc_id in documents]
            return listed, [each for each in found if each.version <= listed.version.number]

        for _ in range(ATTEMPTS):
            listed, documents = await self._access.search(read)
            if len(documents) == len(listed.ids):
                break
            index = await self._access.refresh_index(name)
        return ListedDocuments(listed.version, documents, listed.warnings)
