"""List documents by a filter, in the order of a metadata field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from semblance.service.ports.documents import Document, DocumentStore, Version
from semblance.service.ports.indexes import DocumentSelection, Listed, VectorIndex
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning

ATTEMPTS = 5  # to read documents as the index has them
READ_DOCUMENTS = 16  # at a time
PAGE_CHARS = 16_000_000  # of texts, after which a page ends


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """Documents of `read` ids, in order, up to `last`; `more` says that others follow."""

    version: Version
    documents: Sequence[Document]
    read: int
    last: str
    more: bool
    warnings: Sequence[RequestWarning]


class ListDocuments:
    """Selects documents by the index, and reads them from the store."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def __call__(self, name: str, selection: DocumentSelection, min_version: Version | None) -> ListedDocuments:
        """List documents, less of them where texts are long.

        Of those that change meanwhile, some may be left out.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        _, index = await self._access.current(name, min_version)
        page = await self._access.search(lambda store: _read(store, name, index, selection))
        for _ in range(ATTEMPTS - 1):
            if page.complete:
                break
            index = await self._access.refresh_index(name)
            page = await self._access.search(lambda store: _read(store, name, index, selection))  # noqa: B023 - at once
        found, ids = page.listed, page.listed.ids
        last = ids[page.read - 1] if page.read else ""
        return ListedDocuments(found.version, page.documents, page.read, last, page.read < len(ids), found.warnings)


@dataclass(frozen=True, slots=True)
class _Page:
    """Selected documents, and those of the first `read` of them that have not changed since."""

    listed: Listed
    documents: Sequence[Document]
    read: int

    @property
    def complete(self) -> bool:
        return len(self.documents) == self.read


def _read(store: DocumentStore, name: str, index: VectorIndex, selection: DocumentSelection) -> _Page:
    listed = index.select(replace(selection, limit=selection.limit + 1))  # one more tells whether others follow
    ids = listed.ids[: selection.limit]
    documents: list[Document] = []
    read = chars = 0
    while read < len(ids) and chars < PAGE_CHARS:
        some = ids[read : read + READ_DOCUMENTS]
        collection, found = store.get_at(name, some)
        if collection.version.epoch != listed.version.epoch:
            found = {}
        documents += [found[doc_id] for doc_id in some if doc_id in found]
        read += len(some)
        chars += sum(len(each.text) for each in found.values())
    return _Page(listed, [each for each in documents if each.version <= listed.version.number], read)
