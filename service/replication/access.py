"""Port through which use cases read, search and write collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from semblance.service.ports.document_store import DocumentReader, DocumentWriter
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.indexes import IndexReader, IndexState

Result = TypeVar("Result")


class CollectionAccess(Protocol):
    """Access to collections. Everything but `read_primary` and `write` stays on this machine."""

    async def read(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on the local store, in a thread."""

    async def read_primary(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on the primary, as the basis of a write. Raises StoreUnavailable."""

    async def write(self, name: str, change: Callable[[DocumentWriter], Result]) -> Result:
        """Change collection `name` in the primary, and bring the local store and index up to that.

        Raises StoreUnavailable: then all, or nothing, of the change is stored.
        """

    async def resolve(self, name: str, *, latest: bool = False) -> str:
        """Get the name of the collection that a request asks for by this name, perhaps an alias.

        Use cases call it once a request, so that none sees two collections. `latest` asks the primary, as a write must.
        Raises StoreUnavailable.
        """

    async def search(self, query: Callable[[DocumentReader], Result]) -> Result:
        """Run a query on an index and the local store, in a separate thread pool.

        However many searches wait for a thread, reads are not delayed.
        """

    async def refresh_index(self, name: str) -> IndexReader:
        """Bring the index of collection `name` up to the local store.

        Raises UnknownCollection, VersionNotReached.
        """

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, IndexReader]:
        """Get a collection and its index, of one epoch and encoder, at `min_version` or later.

        Raises:
            UnknownCollection: there is no collection of that name.
            VersionMismatch: `min_version` is of another epoch.
            VersionNotReached: it has not arrived here yet.
        """

    async def switch(self, name: str) -> Version:
        """Make the next encoder of a collection its own, after building its index.

        Raises UnknownCollection, NoReembedding, ReembeddingUnfinished, StoreUnavailable.
        """

    async def drop(self, name: str) -> None:
        """Delete a collection, its index and its aliases.

        Raises UnknownCollection, AliasConflict, StoreUnavailable.
        """

    async def states(self) -> list[IndexState]:
        """List the state of every index, by the name of its collection."""
