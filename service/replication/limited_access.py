"""Access to collections within the limits of the key of the current request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from semblance.service.callers import Permission, current_permission, narrow_to
from semblance.service.errors import Forbidden
from semblance.service.ports.document_store import DocumentReader, DocumentWriter
from semblance.service.ports.documents import Collection, Version, unknown_collection
from semblance.service.ports.indexes import IndexReader, IndexState
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.limited_views import LimitedReader, LimitedWriter, all_documents, limited_index

Result = TypeVar("Result")


class LimitedAccess:
    """`CollectionAccess` of the use cases: with a key without limits, the access itself.

    With limits, queries and changes get views of the store and of the indexes in which the rest does not exist. The
    limits are read in the task of the request, before its threads are entered.
    """

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def read(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on the local store."""
        return await self._access.read(_limited_read(query))

    async def read_primary(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on the primary. Raises StoreUnavailable."""
        return await self._access.read_primary(_limited_read(query))

    async def write(self, name: str, change: Callable[[DocumentWriter], Result]) -> Result:
        """Change a collection. Raises Forbidden, StoreUnavailable."""
        return await self._access.write(name, _limited_write(change))

    async def resolve(self, name: str, *, latest: bool = False) -> str:
        """As `CollectionAccess.resolve`; the key must reach the name that is asked for.

        Where that is an alias, the rest of the request reaches its collection in place of it. Raises UnknownCollection,
        too.
        """
        _reaching(name)
        collection = await self._access.resolve(name, latest=latest)
        if collection != name:
            narrow_to(collection)
        return collection

    async def search(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on an index and the local store."""
        return await self._access.search(_limited_read(query))

    async def refresh_index(self, name: str) -> IndexReader:
        """Bring an index up to the local store. Raises UnknownCollection, VersionNotReached."""
        permission = _reaching(name)
        return limited_index(await self._access.refresh_index(name), permission)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, IndexReader]:
        """As `CollectionAccess.current`."""
        permission = _reaching(name)
        collection, index = await self._access.current(name, min_version)
        return collection, limited_index(index, permission)

    async def switch(self, name: str) -> Version:
        """As `CollectionAccess.switch`. Raises Forbidden, too."""
        all_documents(_reaching(name))
        return await self._access.switch(name)

    async def drop(self, name: str) -> None:
        """As `CollectionAccess.drop`. Raises Forbidden, too."""
        all_documents(_reaching(name))
        await self._access.drop(name)

    async def states(self) -> list[IndexState]:
        """List the state of every index. Raises Forbidden under any limits."""
        if current_permission().is_limited:
            raise Forbidden("the states of the indexes are those of all collections: use a key without limits")
        return await self._access.states()


def _limited_read(query: Callable[[DocumentReader], Result]) -> Callable[[DocumentReader], Result]:
    """A query of the store as the current request may see it."""
    permission = current_permission()
    return (lambda store: query(LimitedReader(store, permission))) if permission.is_limited else query


def _limited_write(change: Callable[[DocumentWriter], Result]) -> Callable[[DocumentWriter], Result]:
    """A change of the store as the current request may make it."""
    permission = current_permission()
    return (lambda store: change(LimitedWriter(store, permission))) if permission.is_limited else change


def _reaching(name: str) -> Permission:
    """The limits of the current request, which reach a collection. Raises UnknownCollection."""
    permission = current_permission()
    if not permission.reaches(name):
        raise unknown_collection(name)
    return permission
