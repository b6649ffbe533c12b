"""Documents that match a filter: count, list and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from semblance_client.vocabulary.documents import Deleted
from semblance_client.vocabulary.matching import Counted, CountRequest, DeleteRequest, ListRequest, MatchingDocuments
from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.errors import OptimisticConflict
from semblance.service.filters import Filter
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import Document, Version
from semblance.service.ports.indexes import DocumentSelection, IndexReader, Listed
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.sorting import Order
from semblance.service.usecases.cursors import Place, read_cursor, write_cursor
from semblance.service.usecases.documents.index import document_response
from semblance.service.usecases.request_fields import (
    RequestLimits,
    requested_facets,
    requested_filter,
    requested_version,
    require_at_most,
)
from semblance.service.usecases.search.results import facets_response

BATCH = 1000  # documents of one transaction, which other writers wait for, and a full disk has room for
ATTEMPTS = 5  # to read documents as the index has them
READ_DOCUMENTS = 16  # at a time
PAGE_CHARS = 16_000_000  # of texts, after which a page ends


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """Number of deleted documents, and the version without them."""

    deleted: int
    version: Version
    warnings: Sequence[RequestWarning] = ()


class DocumentsByFilter:
    """Counts, lists and deletes documents, which the index selects."""

    def __init__(self, access: CollectionAccess, limits: RequestLimits) -> None:
        self._access = access
        self._limits = limits

    async def count(self, name: str, request: CountRequest) -> Counted:
        """Count documents, with the most frequent values of some fields, without reading any.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached: see semblance.service.errors.
        """
        where, facets = requested_filter(request.filter), requested_facets(request.facets)
        _, index = await self._access.current(name, requested_version(request.min_version))
        counted = await self._access.search(lambda _: index.count(where, facets))
        return Counted(
            count=counted.documents,
            facets=facets_response(counted.facets),
            version=str(counted.version),
            warnings=counted.warnings,
        )

    async def list(self, name: str, request: ListRequest) -> MatchingDocuments:
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

    async def delete(self, name: str, request: DeleteRequest) -> Deleted:
        """Delete the documents of some ids, or those that match a filter.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached, WriteConflict: see
                semblance.service.errors.
        """
        where = requested_filter(request.filter)
        if where is None:
            ids = request.ids or []
            require_at_most("/ids", len(ids), self._limits.max_documents, "ids")
            done = await self._by_ids(name, ids)
        else:
            done = await self._by_filter(name, where, requested_version(request.min_version))
        return Deleted(deleted=done.deleted, version=str(done.version), warnings=done.warnings)

    async def _by_ids(self, name: str, ids: Sequence[str]) -> DeletedDocuments:
        """Delete documents in one transaction; missing ones are left out."""

        async def delete() -> DeletedDocuments:
            version, count = await self._access.write(name, lambda store: store.delete_many(name, ids))
            return DeletedDocuments(count, version)

        return await retry_on_conflict(delete, f"collection {name!r} kept changing")

    async def _by_filter(self, name: str, where: Filter, min_version: Version | None) -> DeletedDocuments:
        """Delete the matching documents, in transactions of at most `BATCH`.

        A document that is rewritten meanwhile is deleted only if it still matches.
        """
        conflict = f"collection {name!r} kept changing"
        first = step = await retry_on_conflict(partial(self._delete_some, name, where, min_version), conflict)
        deleted = first.deleted
        while step.deleted:
            step = await retry_on_conflict(partial(self._delete_some, name, where, step.version), conflict)
            deleted += step.deleted
        return DeletedDocuments(deleted, step.version, first.warnings)

    async def _delete_some(self, name: str, where: Filter, min_version: Version | None) -> DeletedDocuments:
        """One transaction; at its end no document matched if it deleted none."""
        _, index = await self._access.current(name, min_version)
        found = await self._access.search(lambda _: index.select(DocumentSelection(where, BATCH)))
        if not found.ids:
            return DeletedDocuments(0, found.version, found.warnings)
        version, count = await self._access.write(name, lambda store: store.delete_many(name, found.ids, found.version))
        if not count:
            raise OptimisticConflict
        return DeletedDocuments(count, version, found.warnings)


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


def _read(store: DocumentReader, name: str, index: IndexReader, selection: DocumentSelection) -> _Page:
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
    return _Page(listed, [document for document in documents if document.version <= listed.version.number], read)
