"""The document store and the indexes that follow it, seen from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from service.errors import VersionMismatch, VersionNotReached
from service.ports import Collection, DocumentStore, IndexFactory, VectorIndex, Version
from service.usecases.catch_up import catch_up

Result = TypeVar("Result")


class LocalCollections:
    """Reads run in a pool of threads; writes and the catching-up after them take turns in one thread.

    With one writer, an index is never changed from two sides, and a cancelled request cannot leave one half done.
    """

    def __init__(self, store: DocumentStore, new_index: IndexFactory) -> None:
        self._store = store
        self._new_index = new_index
        self._indexes: dict[str, VectorIndex] = {}
        self._writer = ThreadPoolExecutor(1, "writer")

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the store; it runs in a thread."""
        return await asyncio.to_thread(query, self._store)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change collection `name` in the store, and bring its index up to that, in one turn."""

        def in_turn() -> Result:
            result = change(self._store)
            self._follow(name)
            return result

        return await asyncio.get_running_loop().run_in_executor(self._writer, in_turn)

    async def follow(self, name: str) -> VectorIndex:
        """The index of collection `name`, brought up to the store. Raises UnknownCollection."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._follow, name)

    async def follow_all(self) -> None:
        """Bring every index up to the store: what a start consists of."""
        for collection in await self.read(lambda store: store.collections()):
            await self.follow(collection.name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """Collection `name` and its index, at `min_version` or later.

        Raises:
            UnknownCollection: there is none of that name.
            VersionMismatch: `min_version` is of another epoch.
            VersionNotReached: the store itself is not there yet.
        """
        collection = await self.read(lambda store: store.collection(name))
        epoch = collection.version.epoch
        if min_version is not None and min_version.epoch != epoch:
            raise VersionMismatch(f"min_version {min_version} is of another life of collection {name!r}: leave it out")
        needed = min_version.number if min_version is not None else 0
        index = self._indexes.get(name)
        if index is None or index.version.epoch != epoch or index.version.number < needed:
            index = await self.follow(name)
        if index.version.number < needed:
            raise VersionNotReached(f"collection {name!r} is at {index.version}, not yet at {min_version}: try again")
        return collection, index

    async def drop(self, name: str) -> None:
        """Delete a collection and its index. Raises UnknownCollection."""

        def in_turn() -> None:
            self._store.drop(name)
            self._indexes.pop(name, None)

        await asyncio.get_running_loop().run_in_executor(self._writer, in_turn)

    def documents(self) -> dict[str, int]:
        """How many documents each index holds."""
        return {name: len(index) for name, index in list(self._indexes.items())}

    def close(self) -> None:
        """Wait for the writes under way, then let go of the store."""
        self._writer.shutdown(wait=True)
        self._store.close()

    def _follow(self, name: str) -> VectorIndex:
        """In the writer's turn only."""
        while True:
            collection = self._store.collection(name)
            index = self._indexes.get(name)
            if index is None or index.version.epoch != collection.version.epoch or index.outgrown:
                documents = self._store.sizes([name])[0][1].documents
                index = self._new_index(collection.settings, collection.version.epoch, documents)
            try:
                catch_up(self._store, name, index)
            except VersionMismatch:  # made anew since we looked
                continue
            self._indexes[name] = index
            return index
