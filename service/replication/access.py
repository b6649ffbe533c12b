"""The collections as this process has them: the documents themselves, or a copy of those in a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from semblance.service.ports.documents import Collection, DocumentStore, Version
from semblance.service.ports.indexes import IndexState, VectorIndex

Result = TypeVar("Result")


class HeldCollections(Protocol):
    """What use cases read, search and write. Everything but `read_truth` and `write` stays within this machine."""

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the local store; it runs in a thread."""

    async def read_truth(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds where the documents themselves are: what a write is based on. Raises StoreUnavailable."""

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change collection `name` where the documents themselves are, and bring what is here up to that.

        Raises StoreUnavailable: then all, or nothing, of the change is stored.
        """

    async def search(self, look: Callable[[DocumentStore], Result]) -> Result:
        """What a look into an index, and then into the local store, finds; it runs in a thread.

        However many of them wait for one, they keep no read waiting.
        """

    async def follow(self, name: str) -> VectorIndex:
        """The index of collection `name`, brought up to the local store.

        Raises UnknownCollection, VersionNotReached.
        """

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """Collection `name` and its index, both of one life and one encoder, at `min_version` or later.

        Raises:
            UnknownCollection: there is none of that name.
            VersionMismatch: `min_version` is of another epoch.
            VersionNotReached: it is not here yet.
        """

    async def switch(self, name: str) -> Version:
        """Let the next encoder of a collection be its own; its index is built before.

        Raises UnknownCollection, NoRollover, RolloverUnfinished, StoreUnavailable.
        """

    async def drop(self, name: str) -> None:
        """Delete a collection and its index. Raises UnknownCollection, StoreUnavailable."""

    async def states(self) -> list[IndexState]:
        """How every index stands, by the name of its collection."""
