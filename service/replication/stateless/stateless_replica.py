"""Serve a primary database and a remote index, without a copy of either."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from semblance.service.errors import (
    IndexUnavailable,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import Collection, Reembedding, Version
from semblance.service.ports.indexes import IndexReader, IndexState
from semblance.service.ports.remote_index import IndexLeadership, IndexMark, IndexMarks, RemoteCollection, RemoteIndex
from semblance.service.replication.local_node import never_at
from semblance.service.replication.primary import STOP_S, Primary, StartWait
from semblance.service.replication.stateless.index_writer import IndexWriter
from semblance.service.replication.stateless.remote_view import RemoteView
from semblance.service.turns import TurnThreads

log = logging.getLogger(__name__)

SWITCH_WAITS = 10  # times as long as a search waits for a version: until the next encoder's vectors are in the index

Result = TypeVar("Result")


class StatelessReplica:
    """`CollectionAccess` that reads and writes the primary, and searches a remote index.

    One of all replicas fills the index; which one, a lock in the primary decides. The others wait for its marks.

    Args:
        primary: the database of all replicas.
        marks: what the index has of it.
        leadership: the right to fill the index.
        index: the server of the index.
        threads: concurrent searches.
    """

    def __init__(
        self,
        primary: Primary,
        marks: IndexMarks,
        leadership: IndexLeadership,
        index: RemoteIndex,
        threads: int,
    ) -> None:
        self.primary = primary
        self._marks = marks
        self._leadership = leadership
        self._index = index
        self._closing = threading.Event()
        self._writer = IndexWriter(primary.store, index, leadership, self._closing)
        self._searcher = TurnThreads(threads, "searcher")
        self._filler = ThreadPoolExecutor(1, "filler")
        self._news = asyncio.Event()  # set at the next notification, then replaced
        self._due = asyncio.Event()  # whether to fill the index again

    @property
    def index_reachable(self) -> bool:
        """Whether the index is reachable."""
        return self._index.reachable

    @property
    def failed_collections(self) -> Set[str]:
        """Names of the collections that this replica, if it fills the index, could not fill."""
        return self._writer.failed

    async def start(self) -> None:
        """Wait for the primary, and look for the index, without which documents are served.

        Raises StoreUnavailable if the primary refuses this process for good.
        """
        waiting = StartWait("waiting for the database", self.primary.timeouts.poll_s)
        while True:
            try:
                await self.read(lambda store: store.collections())
                break
            except StoreUnavailable as error:
                await waiting.after(error)
        with suppress(IndexUnavailable):  # already logged; searches are refused until it answers
            await asyncio.get_running_loop().run_in_executor(self._filler, self._index.ping)

    async def keep_following(self) -> None:
        """Wake requests that wait for a version, and fill the index if leading, until cancelled."""
        filling = asyncio.create_task(self._keep_filling())
        try:
            while True:
                await self.primary.wait_for_change()
                await self._contact_primary()
                self._due.set()
                news, self._news = self._news, asyncio.Event()
                news.set()
        finally:
            filling.cancel()

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the primary. Raises StoreUnavailable."""
        return await self.primary.run(query)

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        """As `read`."""
        return await self.read(query)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change the primary, and wait for the index a while; a committed write succeeds anyway."""
        result = await self.primary.run(change)
        await self._try_to_wait_for(name)
        return result

    async def resolve(self, name: str, *, latest: bool = False) -> str:
        """As `CollectionAccess.resolve`: by the primary."""
        del latest
        return await self.read(lambda store: store.resolve(name))

    async def search(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the index and the primary, in a separate pool that never delays reads."""
        return await self._searcher.run(query, self.primary.store)

    async def refresh_index(self, name: str) -> IndexReader:
        """Wait a while for what the primary has now. Raises UnknownCollection, IndexUnavailable."""
        with suppress(VersionNotReached, VersionMismatch):  # recreated meanwhile, the next request sees that
            await self._wait_for(name, (await self._state(name))[0].version)
        return (await self.current(name, None))[1]

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, IndexReader]:
        """Get a collection and its view of the index, at `min_version` or later.

        Raises:
            UnknownCollection: there is no collection of that name.
            VersionMismatch: the primary was never at `min_version`.
            VersionNotReached: the index has not acknowledged it in time.
            IndexUnavailable: the index does not respond, or is being filled.
        """
        if not self._index.reachable:
            raise IndexUnavailable("the index does not answer: try again")
        collection, mark = await self._wait_for(name, min_version)
        if min_version is not None:
            known = min_version == mark.version or await self.read(lambda store: store.has_version(name, min_version))
            if not known:
                raise never_at(name, min_version)
        return collection, RemoteView(self.primary.store, self._index, collection, mark.version)

    async def switch(self, name: str) -> Version:
        """Switch a collection to its next encoder, once the index has that one's vectors.

        Raises UnknownCollection, NoReembedding, ReembeddingUnfinished, StoreUnavailable, IndexUnavailable.
        """
        size = (await self.read(lambda store: store.sizes([name])))[0]
        if size[0].reembedding is not None and not size[1].unfilled:
            longest_s = SWITCH_WAITS * self.primary.timeouts.version_s
            await self._wait_for(name, size[0].version, next_encoder=size[0].reembedding, longest_s=longest_s)
        version = await self.primary.run_long(lambda store: store.switch(name))
        await self._try_to_wait_for(name)
        return version

    async def drop(self, name: str) -> None:
        """Delete a collection, and later its index.

        Raises UnknownCollection, AliasConflict, StoreUnavailable.
        """
        await self.primary.run_long(lambda store: store.drop(name))
        await self._try_to_wait_for(name)

    async def states(self) -> list[IndexState]:
        """List the state of every index; empty while the primary is unreachable."""

        def query(store: DocumentStore) -> list[IndexState]:
            states = []
            for collection, size in store.sizes():
                with suppress(UnknownCollection):  # deleted meanwhile
                    now, marks = self._marks.read(collection.name)
                    mark = marks.get(RemoteCollection.of(now).key)
                    behind = now.version.number - (0 if mark is None else mark.version.number)
                    states.append(IndexState(now, size, size.passages, max(0, behind)))
            return states

        with suppress(StoreUnavailable):
            return await self.read(query)
        return []

    def close(self) -> None:
        """Disconnect from the primary and the index."""
        self._closing.set()
        wait({self._filler.submit(self._leadership.release)}, STOP_S)
        self._searcher.close(wait=False)
        self._filler.shutdown(wait=False)  # the right is given up after a round that still runs
        self._index.close()
        self.primary.close()

    async def _try_to_wait_for(self, name: str) -> None:
        """Wait a while until the index has a write, which is committed whatever happens here."""
        try:
            if self._index.reachable:
                await self._wait_for(name, (await self._state(name))[0].version)
        except UnknownCollection:  # it was deleted
            pass
        except (IndexUnavailable, StoreUnavailable, VersionMismatch, VersionNotReached) as error:
            log.warning("a write to %s is stored in the primary, but not in the index yet: %s", name, error)

    async def _wait_for(
        self,
        name: str,
        version: Version | None,
        next_encoder: Reembedding | None = None,
        longest_s: float | None = None,
    ) -> tuple[Collection, IndexMark]:
        """Wait until the index is complete, and has acknowledged a version.

        Raises UnknownCollection, VersionMismatch, VersionNotReached, IndexUnavailable, StoreUnavailable.
        """
        until = time.monotonic() + (self.primary.timeouts.version_s if longest_s is None else longest_s)
        while True:
            news = self._news
            collection, marks = await self._state(name)
            if version is not None and version.epoch != collection.version.epoch:
                raise never_at(name, version)
            mark = marks.get(RemoteCollection.of(collection, next_encoder).key)
            complete = mark is not None and mark.complete
            if mark is not None and complete and (version is None or mark.version.number >= version.number):
                return collection, mark
            try:
                async with asyncio.timeout(max(0.0, until - time.monotonic())):
                    await news.wait()
            except TimeoutError:
                if not complete:
                    raise IndexUnavailable(f"the index of collection {name!r} is being filled: try again") from None
                raise VersionNotReached(f"the index of collection {name!r} is not yet at {version}; retry") from None

    async def _state(self, name: str) -> tuple[Collection, Mapping[str, IndexMark]]:
        return await self.read(lambda _: self._marks.read(name))

    async def _keep_filling(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._due.wait()
            self._due.clear()
            if not await loop.run_in_executor(self._filler, self._writer.round):
                self._due.set()

    async def _contact_primary(self) -> None:
        """Ask the primary something, unless a request just did.

        While it is away, all requests are rejected, so that none would notice its return.
        """
        if not self.primary.reachable or self.primary.seconds_since_contact > self.primary.timeouts.poll_s:
            with suppress(StoreUnavailable):  # already logged
                await self.read(lambda store: store.collections())
