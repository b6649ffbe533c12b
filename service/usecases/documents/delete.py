"""Delete many documents: by their ids, or by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from semblance_client.vocabulary.documents import Deleted
from semblance_client.vocabulary.matching import DeleteRequest
from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.errors import OptimisticConflict
from semblance.service.filters import Filter
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import DocumentSelection
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.usecases.request_fields import (
    RequestLimits,
    requested_filter,
    requested_version,
    require_at_most,
)

BATCH = 1000  # documents of one transaction, which other writers wait for, and a full disk has room for


@dataclass(frozen=True, slots=True)
class DeletedDocuments:
    """Number of deleted documents, and the version without them."""

    deleted: int
    version: Version
    warnings: Sequence[RequestWarning] = ()


class DeleteDocuments:
    """Deletes documents so that searches no longer find them."""

    def __init__(self, access: CollectionAccess, limits: RequestLimits) -> None:
        self._access = access
        self._limits = limits

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
