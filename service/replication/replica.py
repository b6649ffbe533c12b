"""Serve a local copy of a primary database, as one of several replicas."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Set
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from semblance.service.errors import (
    IndexDamaged,
    NotReady,
    StoreDamaged,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.ports.document_store import CopyStore, DocumentStore
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.indexes import IndexState, VectorIndex
from semblance.service.replication.follower import Follower
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary
from semblance.service.replication.retries import log_failure

log = logging.getLogger(__name__)

CANCEL_S = 0.1  # until a task that swallowed its cancellation is cancelled again
RETRY_S = 1.0  # between two copies, also on a disk that damages each

Result = TypeVar("Result")


class OpenCopy(Protocol):
    """Opens the copy, whatever is in it."""

    def __call__(self, on_damage: Callable[[], None], /) -> tuple[CopyStore, LocalNode]:
        """`on_damage` is called, in any thread, when a part of the copy turns out to be damaged."""


class Replica:
    """Reads and searches a copy; writes to the primary, then brings the copy up to it.

    Implements `CollectionAccess`. A request may find damage in the copy, or the follower of the primary. From then on
    requests get `NotReady`, so that a load balancer asks another replica, until the primary has been copied
    again.

    Args:
        primary: the database of all replicas.
        open_copy: opens the copy.
        discard_copy: deletes the files of the copy, which is closed.
        snapshot_s: seconds between snapshots of the indexes.
        clock: in seconds; measures the lag, and when to try a copy again.
    """

    def __init__(
        self,
        primary: Primary,
        open_copy: OpenCopy,
        discard_copy: Callable[[], None],
        snapshot_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.primary = primary
        self._open_copy = open_copy
        self._discard_copy = discard_copy
        self._snapshot_s = snapshot_s
        self._clock = clock
        self._damaged = asyncio.Event()
        self._served: tuple[LocalNode, Follower] | None = None
        self._requests = 0  # running on the copy
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the time of the block, which begins once the copy has caught up."""
        started = asyncio.Event()
        task = asyncio.create_task(self._run(started))
        waiting = asyncio.create_task(started.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not started.is_set():
                await task  # which failed
            yield
        finally:
            waiting.cancel()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.to_thread(self.primary.close)

    @property
    def complete(self) -> bool:
        """Whether the copy is sound, and has ever held all collections of the primary."""
        return self._served is not None and self._served[1].complete

    @property
    def keeps_up(self) -> bool:
        """Whether the copy lags no more than it may."""
        return self._served is not None and self._served[1].keeps_up

    @property
    def failed_collections(self) -> Set[str]:
        """Names of the collections of the primary that could not be copied; the log has the reasons."""
        return set() if self._served is None else self._served[1].failed_collections

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the copy."""
        with self._request() as (local, _):
            return await local.read(query)

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the primary. Raises StoreUnavailable."""
        with self._request():
            return await self.primary.run(query)

    async def resolve(self, name: str, *, latest: bool = False) -> str:
        """As `CollectionAccess.resolve`: by the copy, or by the primary for the latest."""
        with self._request() as (local, _):
            if latest:
                return await self.primary.run(lambda store: store.resolve(name))
            return await local.resolve(name)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change the primary; a committed write succeeds even if the copy cannot catch up at once."""
        with self._request() as (_, follower):
            result = await self.primary.run(change)
            await _try_to_catch_up(follower, name)
            return result

    async def search(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on an index and the copy."""
        with self._request() as (local, _):
            return await local.search(query)

    async def refresh_index(self, name: str) -> VectorIndex:
        """Bring the index of collection `name` up to the copy."""
        with self._request() as (local, _):
            return await local.refresh_index(name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """As `LocalNode.current`, after catching up with the primary where that may help."""
        with self._request() as (local, follower):
            try:
                return await local.current(name, min_version)
            except (UnknownCollection, VersionMismatch):
                if min_version is None:
                    raise
            except VersionNotReached:
                pass
            try:
                await follower.catch_up(name)
            except Exception as error:
                if not isinstance(error, StoreUnavailable):  # such as a full disk; other replicas may have the version
                    log_failure(log, f"collection {name} could not be brought up to the primary", error)
                state = f"not yet at {min_version}" if min_version else "still being copied"
                raise VersionNotReached(f"collection {name!r} is {state} here; retry") from error
            return await local.current(name, min_version)

    async def switch(self, name: str) -> Version:
        """Switch a collection to its next encoder; every replica first builds the new index."""
        with self._request() as (_, follower):
            version = await self.primary.run_long(lambda store: store.switch(name))
            await _try_to_catch_up(follower, name)
            return version

    async def drop(self, name: str) -> None:
        """Delete a collection everywhere. Raises UnknownCollection, AliasConflict, StoreUnavailable."""
        with self._request() as (_, follower):
            await self.primary.run_long(lambda store: store.drop(name))
            await _try_to_catch_up(follower, name)

    async def states(self) -> list[IndexState]:
        """List the state of every index, behind the primary by its lag; none without a sound copy."""
        if self._served is None:
            return []
        with self._request() as (local, follower):
            return [replace(state, lag=follower.lag(state)) for state in await local.states()]

    @contextmanager
    def _request(self) -> Iterator[tuple[LocalNode, Follower]]:
        """Keep the copy open for the time of the block. Raises NotReady if it is damaged."""
        if self._served is None:
            raise _copying_again()
        self._requests += 1
        self._idle.clear()
        try:
            yield self._served
        except IndexDamaged:  # not the copy, from which it is rebuilt
            raise
        except StoreDamaged as error:
            raise _copying_again() from error
        finally:
            self._requests -= 1
            if not self._requests:
                self._idle.set()

    async def _run(self, started: asyncio.Event) -> None:
        while True:
            try:
                await self._serve(started)
            except StoreDamaged:  # already logged
                pass
            except Exception:
                if not started.is_set():
                    raise
                log.exception("the replica failed; starting it again")
            await asyncio.sleep(RETRY_S)

    async def _serve(self, started: asyncio.Event) -> None:
        """Serve one copy until it is damaged; discard a damaged one first."""
        if self._damaged.is_set():
            log.warning("the copy of the database is damaged; copying the primary again")
            await asyncio.to_thread(self._discard_copy)
        self._damaged.clear()
        copy, local = self._open_copy(partial(self._report_damage, asyncio.get_running_loop()))
        follower = Follower(self.primary, copy, local, self._clock)
        try:
            await follower.start()
            if not self._damaged.is_set():
                self._served = (local, follower)
                started.set()
            async with running(local.save_every(self._snapshot_s)), running(follower.keep_following()):
                await self._damaged.wait()
        finally:
            self._served = None
            await self._idle.wait()
            await asyncio.to_thread(follower.close)
            await asyncio.to_thread(local.close)

    def _report_damage(self, loop: asyncio.AbstractEventLoop) -> None:
        """In any thread."""
        with suppress(RuntimeError):  # the loop is closed, so nothing is served
            loop.call_soon_threadsafe(self._note_damage)

    def _note_damage(self) -> None:
        """In the event loop: no request begins after it."""
        self._served = None
        self._damaged.set()


async def _try_to_catch_up(follower: Follower, name: str) -> None:
    """Bring the copy up to a write, which is committed whatever happens here."""
    try:
        await follower.catch_up(name)
    except StoreUnavailable as error:
        log.warning("a write to %s is stored in the primary, but not copied yet: %s", name, error)
    except Exception as error:  # noqa: BLE001 - it is logged
        log_failure(log, f"a write to {name} is stored in the primary, but not copied yet", error)


def _copying_again() -> NotReady:
    return NotReady("the local copy of the database was damaged and is being made again; ask another replica")


@asynccontextmanager
async def running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run a background task for the time of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        while not task.done():  # wait_for of Python 3.11 may swallow a cancellation
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_S)
