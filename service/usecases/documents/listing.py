"""List documents by a filter, in the order of a metadata field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from semblance_client.vocabulary.matching import ListRequest, MatchingDocuments

from semblance.service.ports.documents import Document, DocumentStore
from semblance.service.ports.indexes import DocumentSelection, Listed, Order, VectorIndex
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.cursors import Place, read_cursor, write_cursor
from semblance.service.usecases.documents.index import document_response
from semblance.service.usecases.request_fields import requested_filter, requested_version

ATTEMPTS = 5  # to read documents as the index has them
READ_DOCUMENTS = 16  # at a time
PAGE_CHARS = 16_000_000  # of texts, after which a page ends


class ListDocuments:
    """Selects documents by the index, and reads them from the store."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def matching(self, name: str, request: ListRequest) -> MatchingDocuments:
        """List documents, less of them where texts are long.

        Of those that change meanwhile, some may be left out.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        place = read_cursor(request.cursor) if request.cursor else Place(offset=request.offset)
        order = Order(request.sort.field, request.sort.descending) if request.sort else None
        where = requested_filter(request.filter)
        selection = DocumentSelection(where, request.limit, order, place.offset, place.after)
        _, index = await self._access.current(name, requested_version(request.min_version))
        page = await self._access.search(lambda store: _read(store, name, index, selection))
        for _ in range(ATTEMPTS - 1):
            if page.complete:
                break
            index = await self._access.refresh_index(name)
            page = await self._access.search(lambda store: _read(store, name, index, selection))  # noqa: B023 - at once
        following = Place(place.after, place.offset + page.read) if order else Place(page.last)
        return MatchingDocuments(
            documents=[document_response(document) for document in page.documents],
            cursor=write_cursor(following) if page.read < len(page.listed.ids) else None,
            version=str(page.listed.version),
            warnings=page.listed.warnings,
        )


@dataclass(frozen=True, slots=True)
class _Page:
    """Selected documents, and those of the first `read` of them that have not changed since."""

    listed: Listed
    documents: Sequence[Document]
    read: int

    @property
    def last(self) -> str:
        return self.listed.ids[self.read - 1] if self.read else ""

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
