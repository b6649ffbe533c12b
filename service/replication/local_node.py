"""The document store and the indexes that follow it, seen from the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from semblance.service.errors import CollectionReplaced, UnknownCollection, VersionMismatch, VersionNotReached
from semblance.service.ports.documents import NOTHING_YET, Change, Collection, DocumentStore, Version
from semblance.service.ports.indexes import Indexes, IndexState, VectorIndex
from semblance.service.replication.change_feed import Changes, Stopped, catch_up

log = logging.getLogger(__name__)

SEARCHES = 4  # indexes searched at once; more would share the same cores
READS = 4  # of the store at once

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Held:
    """A collection as its index last followed it, and the index."""

    collection: Collection
    index: VectorIndex

    def of(self, now: Collection) -> bool:
        """Whether it is of this life of the collection, and of its encoder."""
        own = self.collection.settings.space
        return (self.index.version.epoch, own) == (now.version.epoch, now.settings.space)


class LocalCollections:
    """Reads and searches run in pools of threads; writes and the catching-up after them take turns in one thread.

    With one writer, an index is never changed from two sides, and a cancelled request cannot leave one half done. An
    index that has become unsuitable is built anew in another thread, while searches and writes go on with the old one;
    the writer's turn only sees it catch up with the last changes and take its place.

    Since nobody else changes the store, a search need not ask it which collection an index is of.
    """

    def __init__(self, store: DocumentStore, indexes: Indexes) -> None:
        self._store = store
        self._folder = indexes
        self._indexes: dict[str, _Held] = {}
        self._saved: dict[str, Version] = {}
        self._building: set[str] = set()  # changed in the writer's turn only
        self._closing = threading.Event()
        self._searcher = ThreadPoolExecutor(SEARCHES, "searcher")
        self._reader = ThreadPoolExecutor(READS, "reader")
        self._writer = ThreadPoolExecutor(1, "writer")
        self._builder = ThreadPoolExecutor(1, "builder")

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the store; it runs in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, query, self._store)

    async def read_truth(self, query: Callable[[DocumentStore], Result]) -> Result:
        """The same as `read`: the documents themselves are here."""
        return await self.read(query)

    async def search(self, look: Callable[[DocumentStore], Result]) -> Result:
        """What a look into an index, and then into the local store, finds; it runs in a thread.

        However many of them wait for one, they keep no read waiting.
        """
        return await asyncio.get_running_loop().run_in_executor(self._searcher, look, self._store)

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
            if collection.version.number != NOTHING_YET:
                await self.follow(collection.name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """Collection `name` and its index, both of one life and one encoder, at `min_version` or later.

        Raises:
            UnknownCollection: there is none of that name.
            VersionMismatch: `min_version` is of another epoch.
            VersionNotReached: the store itself is not there yet.
        """
        while True:
            held = self._indexes.get(name)
            now = held.collection if held is not None else await self.read(lambda store: store.collection(name))
            if min_version is not None and min_version.epoch != now.version.epoch:
                detail = f"min_version {min_version} is of another life of collection {name!r}: leave it out"
                raise VersionMismatch(detail)
            needed = min_version.number if min_version is not None else 0
            if held is None or held.index.version.number < needed:
                await self.follow(name)
                held = self._indexes.get(name)
            if held is None or held.collection.version.epoch != now.version.epoch:  # dropped or made anew meanwhile
                continue
            if held.index.version.number < needed:
                detail = f"collection {name!r} is at {held.index.version}, not yet at {min_version}: try again"
                raise VersionNotReached(detail)
            return held.collection, held.index

    async def switch(self, name: str) -> Version:
        """Build the index of the next encoder beside everything else, then let that encoder be the collection's own.

        Raises UnknownCollection, NoRollover, RolloverUnfinished.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._builder, self.switch_by, name, lambda: self._store.switch(name))

    async def drop(self, name: str) -> None:
        """Delete a collection and its index. Raises UnknownCollection."""

        def in_turn() -> None:
            self._store.drop(name)
            self._forget(name)

        await self._in_turn(in_turn)

    async def rebuild(self, name: str) -> None:
        """Build the index of collection `name` anew from the store, and keep a snapshot. Raises UnknownCollection."""
        await asyncio.get_running_loop().run_in_executor(self._builder, self._build, name)

    async def save(self) -> None:
        """Keep a snapshot of every index that changed since its last."""
        for name in list(self._indexes):
            await self._in_turn(partial(self._save, name))

    def change(self, act: Callable[[], Result]) -> Result:
        """What `act` does to the store, in the writer's turn. Blocks: for the thread that fills a copy."""
        return self._writer.submit(act).result()

    def begin_by(self, name: str, act: Callable[[], object]) -> None:
        """Have `act` begin another life of a collection; index and snapshot of the former one go with it. Blocks."""

        def in_turn() -> None:
            act()
            self._indexes.pop(name, None)
            self._saved.pop(name, None)
            self._discard(name)

        self.change(in_turn)

    def settle(self, name: str) -> None:
        """Bring an index up to the local store, or drop it where its collection is gone. Blocks, as `change`."""

        def in_turn() -> None:
            try:
                self._follow(name)
            except UnknownCollection:
                self._forget(name)

        self.change(in_turn)

    def switch_by(self, name: str, act: Callable[[], Result]) -> Result:
        """Build the index of the next encoder, and let it take its place once `act` has switched the store. Blocks.

        Raises what `act` raises; then everything is as it was.
        """
        collection = self._store.collection(name)
        if collection.rollover is None:
            return act()
        rolled = collection.rolled_over()
        index = self._empty(rolled)
        catch_up(self._changes(rolled), index, self._closing)
        return self.change(lambda: self._take_next(rolled, index, act))

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

        def look(store: DocumentStore) -> list[IndexState]:
            return [
                IndexState(collection, size, held.index.rows, collection.version.number - held.index.version.number)
                for collection, size in store.sizes()
                if (held := self._indexes.get(collection.name)) is not None
            ]

        return await self.read(look)

    def close(self) -> None:
        """Wait for the writes under way, keep snapshots of the indexes, then let go of the store."""
        self._closing.set()
        self._searcher.shutdown(wait=True, cancel_futures=True)
        self._reader.shutdown(wait=True, cancel_futures=True)
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
            if collection.version.number == NOTHING_YET:
                raise VersionNotReached(f"collection {name!r} is still being taken over from the database: try again")
            held = self._indexes.get(name)
            index = held.index if held is not None and held.of(collection) else self._load(collection)
            if index is None:  # not "or": one without documents is false
                index = self._empty(collection)
            try:
                catch_up(self._changes(collection), index)
            except VersionMismatch:  # made anew since we looked
                continue
            self._indexes[name] = _Held(collection, index)
            if index.outgrown and name not in self._building:
                self._order_build(name)
            return index

    def _changes(self, collection: Collection) -> Changes[Change]:
        """The changes of a collection with the vectors of that encoder which is its own in `collection`."""
        return partial(self._store.changes_since, collection.name, space=collection.settings.space)

    def _forget(self, name: str) -> None:
        """In the writer's turn: a collection that is gone has no index, nor a snapshot of it."""
        self._indexes.pop(name, None)
        self._saved.pop(name, None)
        self._folder.keep_only([collection.name for collection in self._store.collections()])

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
            self._discard(collection.name)
        return index

    def _discard(self, name: str) -> None:
        try:
            self._folder.discard(name)
        except OSError:
            log.exception("the useless snapshot of collection %s could not be removed", name)

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
        catch_up(self._changes(collection), index, self._closing)
        self.change(lambda: self._replace(collection, index))

    def _replace(self, collection: Collection, index: VectorIndex) -> None:
        """In the writer's turn: the new index sees what was written while it was built, and takes its place."""
        if self._store.collection(collection.name).settings.space != collection.settings.space:
            raise VersionMismatch(f"collection {collection.name!r} has another encoder by now")
        catch_up(self._changes(collection), index)
        self._take(collection, index)
        log.info("the index of collection %s was built anew: %d rows", collection.name, index.rows)

    def _take_next(self, rolled: Collection, index: VectorIndex, act: Callable[[], Result]) -> Result:
        """In the writer's turn: the store switches to the next encoder, whose index takes its place."""
        now = self._store.collection(rolled.name)
        if now.rollover is None or now.rolled_over().settings != rolled.settings:
            raise CollectionReplaced
        catch_up(self._changes(rolled), index)
        result = act()
        catch_up(self._changes(rolled), index)  # no more than the version of the switch
        self._take(rolled, index)
        log.info("collection %s is filled by %s from now on", rolled.name, rolled.settings.model)
        return result

    def _take(self, collection: Collection, index: VectorIndex) -> None:
        self._indexes[collection.name] = _Held(collection, index)
        self._saved.pop(collection.name, None)
        self._save(collection.name)

    def _save(self, name: str) -> None:
        """In the writer's turn: nothing changes the index meanwhile, and searches go on."""
        held = self._indexes.get(name)
        if held is None or self._saved.get(name) == held.index.version:
            return
        try:
            collection = self._store.collection(name)
            if not held.of(collection):  # another takes its place in a moment
                return
            self._folder.save(collection, held.index)
        except UnknownCollection:
            return
        except (OSError, RuntimeError):
            log.exception("no snapshot of the index of collection %s could be written", name)
        else:
            self._saved[name] = held.index.version

    def _empty(self, collection: Collection) -> VectorIndex:
        return self._folder.new(collection, self._store.sizes([collection.name])[0][1].documents)
