"""Serve a local document store and its indexes to an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from semblance.service.errors import (
    CollectionReplaced,
    HistoryLost,
    IndexDamaged,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import INCOMPLETE_VERSION, Collection, VectorChange, Version
from semblance.service.ports.indexes import Indexes, IndexState, VectorIndex
from semblance.service.replication.change_feed import PageReader, Stopped, catch_up
from semblance.service.replication.held_indexes import HeldIndexes
from semblance.service.turns import TurnThreads

log = logging.getLogger(__name__)

SEARCHES = 4  # concurrent searches; more would share the same cores
READS = 4  # concurrent queries of the store

Result = TypeVar("Result")


class LocalNode:
    """Runs reads and searches in thread pools, and writes with index updates in one thread.

    With a single writer, no index is changed from two sides, and a cancelled request cannot leave one half updated. An
    index that needs a rebuild is built in another thread while searches and writes continue with the old one; the
    writer thread only applies the last changes and swaps the two.

    Since no other process changes the store, a search need not query it for the collection of an index.

    It is a `CollectionAccess` for use cases, and a `CopyWriter` for a `Copier`.
    """

    def __init__(self, store: DocumentStore, indexes: Indexes) -> None:
        self._store = store
        self._indexes = HeldIndexes(store, indexes)
        self._building: set[str] = set()  # changed in the writer thread only
        self._closing = threading.Event()
        self._searcher = TurnThreads(SEARCHES, "searcher")
        self._reader = TurnThreads(READS, "reader")
        self._writer = ThreadPoolExecutor(1, "writer")
        self._builder = ThreadPoolExecutor(1, "builder")

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the store, in a thread."""
        return await self._reader.run(query, self._store)

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        """As `read`: this store is the primary."""
        return await self.read(query)

    async def resolve(self, name: str, *, latest: bool = False) -> str:
        """As `CollectionAccess.resolve`; a collection with an index in memory needs no query."""
        del latest
        return name if self._indexes.get(name) is not None else await self.read(lambda store: store.resolve(name))

    async def search(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on an index and the store, in a separate pool that never delays reads.

        Raises:
            IndexDamaged: the index is damaged; the next query rebuilds it.
        """
        try:
            return await self._searcher.run(query, self._store)
        except IndexDamaged as error:
            await self._in_writer(partial(self._indexes.drop_damaged, error))
            raise

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change a collection and bring its index up to date, in one turn of the writer thread."""

        def write_and_refresh() -> Result:
            result = change(self._store)
            with suppress(UnknownCollection):  # an alias was deleted
                self._refresh(name)
            return result

        return await self._in_writer(write_and_refresh)

    async def refresh_index(self, name: str) -> VectorIndex:
        """Bring an index up to the store. Raises UnknownCollection, VersionNotReached."""
        return await self._in_writer(lambda: self._refresh(name))

    async def refresh_indexes(self) -> None:
        """Bring every index up to the store, at startup."""
        collections = await self.read(lambda store: store.collections())
        await self._in_writer(partial(self._indexes.keep_only, [collection.name for collection in collections]))
        for collection in collections:
            if collection.version.number != INCOMPLETE_VERSION:
                await self.refresh_index(collection.name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """Get a collection and its index, of one epoch and encoder, at `min_version` or later.

        Raises:
            UnknownCollection: there is no collection of that name.
            VersionMismatch: the store was never at `min_version`.
            VersionNotReached: the collection is still being copied.
        """
        while True:
            # The collection as its index last saw it saves a query of the store for each search. Only the writer
            # thread changes either, and it replaces both together.
            indexed = self._indexes.get(name)
            now = indexed.collection if indexed is not None else await self.read(lambda store: store.collection(name))
            if min_version is not None and min_version.epoch != now.version.epoch:
                raise never_at(name, min_version)
            needed = min_version.number if min_version is not None else 0
            if indexed is None or indexed.index.version.number < needed:
                # A write under way may be about to reach that version: the refresh waits for its turn, then checks.
                await self.refresh_index(name)
                indexed = self._indexes.get(name)
            if indexed is None or indexed.collection.version.epoch != now.version.epoch:  # dropped or recreated since
                continue
            if min_version is not None and not await self._has_version(name, min_version, indexed.index.version):
                raise never_at(name, min_version)
            return indexed.collection, indexed.index

    async def _has_version(self, name: str, version: Version, now: Version) -> bool:
        if version == now:  # as after one's own write: saves a query
            return True
        return version.number <= now.number and await self.read(lambda store: store.has_version(name, version))

    async def switch(self, name: str) -> Version:
        """Build the index of the next encoder in the background, then switch to that encoder.

        Raises UnknownCollection, NoReembedding, ReembeddingUnfinished.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._builder, self.switch_with, name, lambda: self._store.switch(name))

    async def drop(self, name: str) -> None:
        """Delete a collection, its index and its aliases. Raises UnknownCollection, AliasConflict."""

        def drop() -> None:
            self._store.drop(name)
            self._keep_only_stored()

        await self._in_writer(drop)

    async def rebuild(self, name: str) -> None:
        """Rebuild an index from the store, and save a snapshot. Raises UnknownCollection."""
        await asyncio.get_running_loop().run_in_executor(self._builder, self._build, name)

    async def save(self) -> None:
        """Save a snapshot of every index that changed by enough since its last one."""
        for name in self._indexes.outdated():
            await self._in_writer(partial(self._indexes.save, name))

    async def save_every(self, seconds: float) -> None:
        """Save snapshots periodically, until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.save()
            except Exception:
                log.exception("snapshots of the indexes could not be saved; retrying in %g s", seconds)

    async def states(self) -> list[IndexState]:
        """List the state of every index, by the name of its collection."""

        def query(store: DocumentStore) -> list[IndexState]:
            return [
                IndexState(collection, size, each.index.rows, collection.version.number - each.index.version.number)
                for collection, size in store.sizes()
                if (each := self._indexes.get(collection.name)) is not None
            ]

        return await self.read(query)

    def run_as_writer(self, act: Callable[[], Result]) -> Result:
        """Run `act`, which changes the store, in the writer thread. Blocks."""
        return self._writer.submit(act).result()

    def begin_epoch(self, name: str, act: Callable[[], object]) -> None:
        """Run `act`, which begins an epoch of a collection, and discard the former index. Blocks."""

        def begin() -> None:
            act()
            self._indexes.drop(name)

        self.run_as_writer(begin)

    def switch_with(self, name: str, act: Callable[[], Result]) -> Result:
        """Build the index of the next encoder, then run `act`, which switches the store. Blocks.

        Raises what `act` raises; then nothing has changed.
        """
        collection = self._store.collection(name)
        if collection.reembedding is None:
            return act()
        switched = collection.reembedded()
        index = self._indexes.empty(switched)
        catch_up(self._changes(switched), index, self._closing)
        return self.run_as_writer(lambda: self._switch(switched, index, act))

    def refresh_or_drop(self, name: str) -> None:
        """Bring an index up to the store, or drop it if its collection was deleted. Blocks."""

        def refresh() -> None:
            try:
                self._refresh(name)
            except UnknownCollection:
                self._keep_only_stored()

        self.run_as_writer(refresh)

    def close(self) -> None:
        """Wait for running writes, save snapshots of the indexes, then close the store."""
        self._closing.set()
        self._searcher.close()
        self._reader.close()
        self._builder.shutdown(wait=True, cancel_futures=True)
        self._writer.submit(self._indexes.save_all)
        self._writer.shutdown(wait=True)
        self._store.close()

    async def _in_writer(self, act: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._writer, act)

    def _refresh(self, name: str) -> VectorIndex:
        """In the writer thread."""
        is_damaged = False
        while True:
            collection = self._store.collection(name)
            if collection.version.number == INCOMPLETE_VERSION:
                raise VersionNotReached(f"collection {name!r} is still being copied from the database; retry")
            indexed = self._indexes.get(name)
            if indexed is not None and indexed.matches(collection):
                index: VectorIndex | None = indexed.index
            else:
                index = None if is_damaged else self._indexes.load(collection)
            if index is None:  # not "or": an index without documents is false
                index = self._indexes.empty(collection)
            try:
                catch_up(self._changes(collection), index)
            except (HistoryLost, IndexDamaged) as error:
                log.warning("rebuilding the index of collection %s: %s", name, error)
                self._indexes.drop(name)
                is_damaged = True  # also if its snapshot could not be removed
                continue
            except VersionMismatch:  # recreated since it was read
                continue
            self._indexes.hold(collection, index)
            if index.needs_rebuild and name not in self._building:
                self._schedule_build(name)
            return index

    def _changes(self, collection: Collection) -> PageReader[VectorChange]:
        """Read changes of a collection, with vectors of its generation as given by `collection`."""
        return partial(self._store.vector_changes, collection.name, generation=collection.settings.generation)

    def _keep_only_stored(self) -> None:
        """In the writer thread: drop the indexes of deleted collections."""
        self._indexes.keep_only([collection.name for collection in self._store.collections()])

    def _schedule_build(self, name: str) -> None:
        try:
            self._builder.submit(self._build_in_background, name)
        except RuntimeError:  # the builder is shut down: the next start rebuilds the index
            return
        self._building.add(name)

    def _build_in_background(self, name: str) -> None:
        try:
            self._build(name)
        except (UnknownCollection, VersionMismatch, Stopped) as error:
            log.info("the rebuilt index of collection %s is no longer needed: %r", name, error)
        except Exception:
            log.exception("the index of collection %s could not be rebuilt", name)
        finally:
            self._writer.submit(self._building.discard, name)

    def _build(self, name: str) -> None:
        """In the builder thread: the long part of a rebuild, beside reads, searches and writes."""
        collection = self._store.collection(name)
        index = self._indexes.empty(collection)
        catch_up(self._changes(collection), index, self._closing)
        self.run_as_writer(lambda: self._replace(collection, index))

    def _replace(self, collection: Collection, index: VectorIndex) -> None:
        """In the writer thread: apply what was written during the rebuild, and swap the indexes."""
        if self._store.collection(collection.name).settings.generation != collection.settings.generation:
            raise VersionMismatch(f"the encoder of collection {collection.name!r} has changed")
        catch_up(self._changes(collection), index)
        self._install(collection, index)
        log.info("rebuilt the index of collection %s: %d rows", collection.name, index.rows)

    def _switch(self, switched: Collection, index: VectorIndex, act: Callable[[], Result]) -> Result:
        """In the writer thread: switch the store to the next encoder, and swap the indexes."""
        now = self._store.collection(switched.name)
        if now.reembedding is None or now.reembedded().settings != switched.settings:
            raise CollectionReplaced
        catch_up(self._changes(switched), index)
        result = act()
        catch_up(self._changes(switched), index)  # only the version of the switch itself
        self._install(switched, index)
        log.info("collection %s has switched to model %s", switched.name, switched.settings.model)
        return result

    def _install(self, collection: Collection, index: VectorIndex) -> None:
        self._indexes.hold(collection, index)
        self._indexes.save(collection.name, always=True)


def never_at(name: str, version: Version) -> VersionMismatch:
    """Error for a `min_version` that a collection was never at."""
    return VersionMismatch(
        f"collection {name!r} was never at min_version {version}: it was recreated or restored, its database "
        "recovered, or an alias switched; leave min_version out"
    )
