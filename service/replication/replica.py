"""Serve a local copy of a primary database, as one of several replicas."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from semblance.service.errors import StoreUnavailable, UnknownCollection, VersionMismatch, VersionNotReached
from semblance.service.ports.documents import INCOMPLETE_VERSION, Collection, CopyStore, DocumentStore, Version
from semblance.service.ports.indexes import IndexState, VectorIndex
from semblance.service.replication.change_feed import Stopped
from semblance.service.replication.copier import Copier
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.primary_queries import PrimaryQueries

log = logging.getLogger(__name__)

LONG_WRITE_FACTOR = 10  # times the timeout of other writes: to delete a collection, or the embeddings by one encoder
STOP_S = 1.0  # time for a page under way to end at shutdown
RETRY_S = 30.0  # a collection that could not be copied is tried again after this, or when it changes

Result = TypeVar("Result")


@dataclass(slots=True)
class _FailedCopy:
    """A collection that could not be copied; `stale` if an earlier version is served."""

    collection: Collection
    stale: bool
    retry_at: float


class Replica:
    """Reads and searches a copy; writes to the primary, then brings the copy up to it.

    Implements `CollectionAccess`. One thread copies what changed in the primary. Whatever delays it, reads and searches
    continue with the copy as it is; its changes to the copy run in the writer thread of `local`.

    Args:
        primary: the database of all replicas.
        copy: a store on this machine; no other process changes it.
        local: serves that copy and its indexes.
        connections: concurrent queries of the primary.
        timeouts: how long to wait for what.
        clock: in seconds; measures the lag, and when to try a copy again.
    """

    def __init__(
        self,
        primary: Primary,
        copy: CopyStore,
        local: LocalNode,
        connections: int,
        timeouts: Timeouts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._primary = primary
        self._copy = copy
        self._local = local
        self._timeouts = timeouts
        self._clock = clock
        self._closing = threading.Event()
        self._copier = Copier(primary.store, copy, local, self._closing, clock=clock)
        self._queries = PrimaryQueries(primary.store, connections, "primary")
        self._follower = ThreadPoolExecutor(1, "follower")
        self._listener = ThreadPoolExecutor(1, "listener")
        self._primary_versions: dict[str, Version] = {}  # as last read
        self._failed: dict[str, _FailedCopy] = {}
        self._caught_up_at = clock()  # when the copy last equalled the primary, or the primary was unreachable
        self.complete = False  # whether the copy has ever held all collections of the primary

    @property
    def reachable(self) -> bool:
        """Whether the primary answers."""
        return self._primary.health.healthy

    @property
    def writable(self) -> bool:
        """Whether the last write of this replica met no failure of the primary's disk."""
        return self._primary.store.writable

    @property
    def seconds_since_contact(self) -> float:
        """Seconds since the primary last answered."""
        return self._primary.health.seconds_since_answer

    @property
    def keeps_up(self) -> bool:
        """Whether the copy lags no more than it may.

        Time in which the primary is unreachable, or a whole collection is copied (its epoch or encoder is new), does
        not count.
        """
        caught_up_at = max(self._caught_up_at, self._copier.last_full_copy_at)
        return not self.reachable or self._clock() - caught_up_at <= self._timeouts.lag_s

    @property
    def failed_collections(self) -> int:
        """Number of collections of the primary that could not be copied; the log has the reasons."""
        return len(self._failed)

    async def start(self) -> None:
        """Load the copy and catch up once; without the primary, serve a complete copy as it is.

        Waits for the primary where there is no complete copy.
        """
        await self._local.refresh_indexes()
        warned = False
        while not self.complete:
            try:
                await self._in_follower(partial(self._bring_up_all, await self._read_collections()))
            except StoreUnavailable as error:
                self.complete = self._copy_is_complete()
                if self.complete:
                    log.warning("serving the last state of the copy: %s", error)
                    break
                if not warned:
                    log.warning("waiting for the database, since there is no complete copy of it yet: %s", error)
                warned = True
                await asyncio.sleep(self._timeouts.poll_s)
        self._caught_up_at = self._clock()

    async def keep_following(self) -> None:
        """Follow the primary and measure the lag, until cancelled."""
        round_ = asyncio.create_task(asyncio.sleep(0))
        try:
            while True:
                await self._wait_for_change()
                try:
                    collections = await self._read_collections()
                except StoreUnavailable:  # already logged
                    self._caught_up_at = self._clock()
                except Exception:
                    # An unreadable primary, such as one with newer tables, affects every replica: none is behind the
                    # others, and if all reported that they do not keep up, no copy would be served.
                    log.exception("the collections of the primary could not be read; retrying")
                    self._caught_up_at = self._clock()
                    await asyncio.sleep(self._timeouts.poll_s)
                else:
                    # A round may take minutes, for a large collection. It runs in its own task, while this loop keeps
                    # reading the primary's versions, so that the reported lag grows; only one round runs at a time.
                    if round_.done():
                        round_ = asyncio.create_task(self._round(collections))
                    await asyncio.wait({round_}, timeout=self._timeouts.poll_s)
        finally:
            round_.cancel()

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the copy."""
        return await self._local.read(query)

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the primary. Raises StoreUnavailable."""
        return await self._queries.run(query, self._timeouts.write_s)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change the primary; a committed write succeeds even if the copy cannot catch up at once."""
        return await self._write(name, change, self._timeouts.write_s)

    async def _write(self, name: str, change: Callable[[DocumentStore], Result], timeout_s: float) -> Result:
        result = await self._queries.run(change, timeout_s)
        try:
            await self._catch_up(name)
        except StoreUnavailable as error:
            log.warning("a write to %s is stored in the primary, but not copied yet: %s", name, error)
        except Exception:
            log.exception("a write to %s is stored in the primary, but not copied yet", name)
        return result

    async def search(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on an index and the copy."""
        return await self._local.search(query)

    async def refresh_index(self, name: str) -> VectorIndex:
        """Bring the index of collection `name` up to the copy."""
        return await self._local.refresh_index(name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """As `LocalNode.current`, after catching up with the primary where that may help."""
        try:
            return await self._local.current(name, min_version)
        except (UnknownCollection, VersionMismatch):
            if min_version is None:
                raise
        except VersionNotReached:
            pass
        try:
            await self._catch_up(name)
        except Exception as error:
            if not isinstance(error, StoreUnavailable):  # such as a full disk; other replicas may have the version
                log.exception("collection %s could not be brought up to the primary", name)
            state = f"not yet at {min_version}" if min_version else "still being copied"
            raise VersionNotReached(f"collection {name!r} is {state} here; retry") from error
        return await self._local.current(name, min_version)

    async def switch(self, name: str) -> Version:
        """Switch a collection to its next encoder; every replica first builds the new index."""
        return await self._write(name, lambda store: store.switch(name), LONG_WRITE_FACTOR * self._timeouts.write_s)

    async def drop(self, name: str) -> None:
        """Delete a collection everywhere. Raises UnknownCollection, StoreUnavailable."""
        await self._write(name, lambda store: store.drop(name), LONG_WRITE_FACTOR * self._timeouts.write_s)

    async def states(self) -> list[IndexState]:
        """List the state of every index; `lag` is relative to the primary as last read."""
        return [replace(state, lag=self._lag(state)) for state in await self._local.states()]

    def close(self) -> None:
        """Disconnect from the primary; the copy and its indexes are closed with `local`."""
        self._closing.set()
        self._listener.submit(self._primary.notices.close)  # in the thread that uses it
        until = time.monotonic() + STOP_S
        wait({self._follower.submit(int)}, STOP_S)  # it stops at its next page or answer, unless the primary hangs
        self._queries.close(max(0.0, until - time.monotonic()))
        self._listener.shutdown(wait=False)
        self._follower.shutdown(wait=False, cancel_futures=True)
        self._primary.store.close()

    async def _catch_up(self, name: str) -> None:
        """Bring one collection up to the primary, within a timeout. Raises StoreUnavailable."""
        try:
            async with asyncio.timeout(self._timeouts.version_s):
                await self._in_follower(lambda: self._bring_up(name))
        except TimeoutError:
            raise StoreUnavailable(f"collection {name!r} did not catch up in time; retry") from None

    async def _in_follower(self, act: Callable[[], Any]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._follower, act)

    async def _wait_for_change(self) -> None:
        """Wait for a notification, or until the next poll is due."""
        poll_s = self._timeouts.poll_s
        notified = asyncio.get_running_loop().run_in_executor(
            self._listener, self._primary.notices.wait, poll_s, self._closing
        )
        with suppress(TimeoutError):  # its connection may hang
            async with asyncio.timeout(poll_s + self._timeouts.write_s):
                await notified

    async def _read_collections(self) -> list[Collection]:
        """Read all collections of the primary, and note their versions. Raises StoreUnavailable."""
        collections = await self.read_primary(lambda store: store.collections())
        self._primary_versions = {collection.name: collection.version for collection in collections}
        return collections

    async def _round(self, collections: Sequence[Collection]) -> None:
        """Bring the copy up to `collections`, and record when it equaled them."""
        began = self._clock()
        try:
            await self._in_follower(partial(self._bring_up_all, collections))
            # The copy equals what was read before the round began; later writes are not in it, so the time of the end
            # would hide the lag. A collection that was never copied is reported as failed, not as lag.
            if not any(failed.stale for failed in self._failed.values()):
                self._caught_up_at = began
        except (StoreUnavailable, Stopped):  # already logged
            # A primary that answers queries, but is too slow for this copy, must not hide the lag.
            if not self.reachable:
                self._caught_up_at = self._clock()
        except Exception:
            log.exception("the primary could not be followed; retrying")

    def _bring_up(self, name: str) -> None:
        self._copier(name)
        self._local.refresh_or_drop(name)

    def _bring_up_all(self, collections: Sequence[Collection]) -> None:
        """In the follower thread: bring every collection of the copy that differs up to the primary."""
        sources = {collection.name: collection for collection in collections}
        copies = {collection.name: collection for collection in self._copy.collections()}
        self._failed = {name: failed for name, failed in self._failed.items() if name in sources}
        for name in sources.keys() - copies.keys():  # first, so that an interrupted copy knows that it is incomplete
            self._try(name, sources[name], partial(self._copier.announce, sources[name]))
        for name in copies.keys() | sources.keys():
            if copies.get(name) != sources.get(name):
                self._try(name, sources.get(name), partial(self._bring_up, name))
        self.complete = True

    def _try(self, name: str, source: Collection | None, act: Callable[[], None]) -> None:
        """Run `act`, so that a collection that cannot be copied does not keep the others from it."""
        failed = self._failed.get(name)
        if failed is not None and failed.collection == source and self._clock() < failed.retry_at:
            return
        try:
            act()
        except (StoreUnavailable, Stopped):
            raise
        except Exception:
            log.exception("collection %s could not be copied; retrying in %g s", name, RETRY_S)
            if source is not None:
                stale = any(each.name == name for each, _ in self._copy.sizes())  # which lists complete ones
                self._failed[name] = _FailedCopy(source, stale, self._clock() + RETRY_S)
        else:
            self._failed.pop(name, None)

    def _copy_is_complete(self) -> bool:
        """Whether the copy has collections to serve, all of them complete."""
        collections = self._copy.collections()
        return bool(collections) and all(each.version.number != INCOMPLETE_VERSION for each in collections)

    def _lag(self, state: IndexState) -> int:
        here, there = state.collection.version, self._primary_versions.get(state.collection.name)
        if there is None:
            return state.lag
        behind = there.number - here.number if there.epoch == here.epoch else there.number
        return max(0, behind) + state.lag
