"""The document store and the indexes that follow it, seen from the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from service.errors import UnknownCollection, VersionMismatch, VersionNotReached
from service.ports import Collection, DocumentStore, Indexes, IndexState, VectorIndex, Version
from service.usecases.catch_up import Stopped, catch_up

log = logging.getLogger(__name__)

SEARCHES = 4  # indexes searched at once; more would share the same cores

Result = TypeVar("Result")


class LocalCollections:
    """Reads and searches run in pools of threads; writes and the catching-up after them take turns in one thread.

    With one writer, an index is never changed from two sides, and a cancelled request cannot leave one half done. An
    index that has become unsuitable is built anew in another thread, while searches and writes go on with the old one;
    the writer's turn only sees it catch up with the last changes and take its place.
    """

    def __init__(self, store: DocumentStore, indexes: Indexes) -> None:
        self._store = store
        self._folder = indexes
        self._indexes: dict[str, VectorIndex] = {}
        self._saved: dict[str, Version] = {}
        self._building: set[str] = set()  # changed in the writer's turn only
        self._closing = threading.Event()
        self._searcher = ThreadPoolExecutor(SEARCHES, "searcher")
        self._writer = ThreadPoolExecutor(1, "writer")
        self._builder = ThreadPoolExecutor(1, "builder")

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the store; it runs in a thread."""
        return await asyncio.to_thread(query, self._store)

    async def search(self, look: Callable[[], Result]) -> Result:
        """What a look into an index finds. However many of them wait for a thread, they keep no read waiting."""
        return await asyncio.get_running_loop().run_in_executor(self._searcher, look)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change collection `name` in the store, and bring its index up to that, in one turn."""

        def in_turn() -> Result:
            result = change(self._store)
            self._follow(name)
            return result

        return await self._in_turn(in_turn)

    async def follow(self, name: str) -> VectorIndex:
        """The index of collection `name`, brought up to the store. Raises UnknownCollection."""
        return await self._in_turn(lambda: self._follow(name))

    async def follow_all(self) -> None:
        """Bring every index up to the store: what a start consists of."""
        collections = await self.read(lambda store: store.collections())
        await asyncio.to_thread(self._folder.keep_only, [collection.name for collection in collections])
        for collection in collections:
            await self.follow(collection.name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """Collection `name` and its index, both of one life, at `min_version` or later.

        Raises:
            UnknownCollection: there is none of that name.
            VersionMismatch: `min_version` is of another epoch.
            VersionNotReached: the store itself is not there yet.
        """
        while True:
            collection = await self.read(lambda store: store.collection(name))
            epoch = collection.version.epoch
            if min_version is not None and min_version.epoch != epoch:
                detail = f"min_version {min_version} is of another life of collection {name!r}: leave it out"
                raise VersionMismatch(detail)
            needed = min_version.number if min_version is not None else 0
            index = self._indexes.get(name)
            if index is None or index.version.epoch != epoch or index.version.number < needed:
                index = await self.follow(name)
            if index.version.epoch != epoch:  # made anew since we looked
                continue
            if index.version.number < needed:
                detail = f"collection {name!r} is at {index.version}, not yet at {min_version}: try again"
                raise VersionNotReached(detail)
            return collection, index

    async def drop(self, name: str) -> None:
        """Delete a collection and its index. Raises UnknownCollection."""

        def in_turn() -> None:
            self._store.drop(name)
            self._indexes.pop(name, None)
            self._saved.pop(name, None)
            self._folder.keep_only([collection.name for collection in self._store.collections()])

        await self._in_turn(in_turn)

    async def rebuild(self, name: str) -> None:
        """Build the index of collection `name` anew from the store, and keep a snapshot. Raises UnknownCollection."""
        await asyncio.get_running_loop().run_in_executor(self._builder, self._build, name)

    async def save(self) -> None:
        """Keep a snapshot of every index that changed since its last."""
        for name in list(self._indexes):
            await self._in_turn(partial(self._save, name))

    async def save_every(self, seconds: float) -> None:
        """Save again and again, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.save()
            except Exception:
                log.exception("no snapshots of the indexes this time")

    async def states(self) -> list[IndexState]:
        """How every index stands, by the name of its collection."""

        def look() -> list[IndexState]:
            return [
                IndexState(collection, size, index.rows, collection.version.number - index.version.number)
                for collection, size in self._store.sizes()
                if (index := self._indexes.get(collection.name)) is not None
            ]

        return await asyncio.to_thread(look)

    def close(self) -> None:
        """Wait for the writes under way, keep snapshots of the indexes, then let go of the store."""
        self._closing.set()
        self._searcher.shutdown(wait=True, cancel_futures=True)
        self._builder.shutdown(wait=True, cancel_futures=True)
        for name in list(self._indexes):
            self._writer.submit(self._save, name)
        self._writer.shutdown(wait=True)
        self._store.close()

    async def _in_turn(self, act: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._writer, act)

    def _follow(self, name: str) -> VectorIndex:
        """In the writer's turn only."""
        while True:
            collection = self._store.collection(name)
            index = self._indexes.get(name)
            if index is None or index.version.epoch != collection.version.epoch:
                index = self._load(collection)
                if index is None:  # not "or": one without documents is false
                    index = self._empty(collection)
            try:
                catch_up(partial(self._store.changes_since, name), index)
            except VersionMismatch:  # made anew since we looked
                continue
            self._indexes[name] = index
            if index.outgrown and name not in self._building:
                self._order_build(name)
            return index

    def _order_build(self, name: str) -> None:
        try:
            self._builder.submit(self._build_in_background, name)
        except RuntimeError:  # the builder is shut down: the next start builds it
            return
        self._building.add(name)

    def _load(self, collection: Collection) -> VectorIndex | None:
        """The snapshot, which is gone from the disk if it is of no use.

        One ahead of the store, which was put back alone, would be taken for its own after some more writes.
        """
        index = self._folder.load(collection)
        if index is None:
            try:
                self._folder.discard(collection.name)
            except OSError:
                log.exception("the useless snapshot of collection %s could not be removed", collection.name)
        return index

    def _build_in_background(self, name: str) -> None:
        try:
            self._build(name)
        except (UnknownCollection, VersionMismatch, Stopped) as error:
            log.info("the new index of collection %s is not needed any more: %r", name, error)
        except Exception:
            log.exception("the index of collection %s could not be built anew", name)
        finally:
            self._writer.submit(self._building.discard, name)

    def _build(self, name: str) -> None:
        """In the builder's thread: the long part of making an index anew, beside which everything goes on."""
        collection = self._store.collection(name)
        index = self._empty(collection)
        catch_up(partial(self._store.changes_since, name), index, self._closing)
        self._writer.submit(self._replace, collection, index).result()

    def _replace(self, collection: Collection, index: VectorIndex) -> None:
        """In the writer's turn: the new index sees what was written while it was built, and takes its place."""
        catch_up(partial(self._store.changes_since, collection.name), index)
        self._indexes[collection.name] = index
        self._saved.pop(collection.name, None)
        log.info("the index of collection %s was built anew: %d rows", collection.name, index.rows)
        self._save(collection.name)

    def _save(self, name: str) -> None:
        """In the writer's turn: nothing changes the index meanwhile, and searches go on."""
        index = self._indexes.get(name)
        if index is None or self._saved.get(name) == index.version:
            return
        try:
            self._folder.save(self._store.collection(name), index)
        except (OSError, RuntimeError):
            log.exception("no snapshot of the index of collection %s could be written", name)
        else:
            self._saved[name] = index.version

    def _empty(self, collection: Collection) -> VectorIndex:
        return self._folder.new(collection, self._store.sizes([collection.name])[0][1].documents)
