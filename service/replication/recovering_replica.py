"""A replica that replaces its copy when that is damaged, and refuses requests meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Protocol, TypeVar

from semblance.service.errors import IndexDamaged, NotReady, StoreDamaged
from semblance.service.ports.documents import Collection, DocumentStore, Version
from semblance.service.ports.indexes import IndexState, VectorIndex
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.replica import Replica

log = logging.getLogger(__name__)

CANCEL_S = 0.1  # until a task that swallowed its cancellation is cancelled again
RETRY_S = 1.0  # between two copies, also on a disk that damages each

Result = TypeVar("Result")


class OpenReplica(Protocol):
    """Opens the copy, whatever is in it, and a replica that follows the primary with it."""

    def __call__(self, on_damage: Callable[[], None], /) -> tuple[LocalNode, Replica]:
        """`on_damage` is called, in any thread, when a part of the copy turns out to be damaged."""


class RecoveringReplica:
    """Runs one replica after the other, each on a new copy. Implements `CollectionAccess`.

    A request may find damage, or the thread that follows the primary. From then on requests are answered by `NotReady`,
    so that a load balancer asks another replica, until the primary has been copied again.

    Args:
        open_replica: opens a replica.
        discard_copy: deletes the files of the copy, which is closed.
        snapshot_s: seconds between snapshots of the indexes.
    """

    def __init__(self, open_replica: OpenReplica, discard_copy: Callable[[], None], snapshot_s: float) -> None:
        self._open_replica = open_replica
        self._discard_copy = discard_copy
        self._snapshot_s = snapshot_s
        self._damaged = asyncio.Event()
        self._serving = False
        self._requests = 0  # running on the copy
        self._idle = asyncio.Event()
        self._idle.set()
        self._replica: Replica | None = None

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

    @property
    def complete(self) -> bool:
        """Whether the copy is sound, and has ever held all collections of the primary."""
        return self._serving and self._replica is not None and self._replica.complete

    @property
    def keeps_up(self) -> bool:
        """Whether the copy lags no more than it may."""
        return self._replica is not None and self._replica.keeps_up

    @property
    def reachable(self) -> bool:
        """Whether the primary answers."""
        return self._replica is not None and self._replica.reachable

    @property
    def writable(self) -> bool:
        """Whether the last write of this replica met no failure of the primary's disk."""
        return self._replica is None or self._replica.writable

    @property
    def seconds_since_contact(self) -> float:
        """Seconds since the primary last answered."""
        return self._replica.seconds_since_contact if self._replica is not None else 0.0

    @property
    def failed_collections(self) -> int:
        """Number of collections of the primary that could not be copied."""
        return self._replica.failed_collections if self._replica is not None else 0

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the copy."""
        return await self._ask(lambda replica: replica.read(query))

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on the primary. Raises StoreUnavailable."""
        return await self._ask(lambda replica: replica.read_primary(query))

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change the primary. Raises StoreUnavailable."""
        return await self._ask(lambda replica: replica.write(name, change))

    async def search(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query on an index and the copy."""
        return await self._ask(lambda replica: replica.search(query))

    async def refresh_index(self, name: str) -> VectorIndex:
        """Bring the index of collection `name` up to the copy."""
        return await self._ask(lambda replica: replica.refresh_index(name))

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """As `Replica.current`."""
        return await self._ask(lambda replica: replica.current(name, min_version))

    async def switch(self, name: str) -> Version:
        """Switch a collection to its next encoder."""
        return await self._ask(lambda replica: replica.switch(name))

    async def drop(self, name: str) -> None:
        """Delete a collection everywhere."""
        await self._ask(lambda replica: replica.drop(name))

    async def states(self) -> list[IndexState]:
        """List the state of every index; there is none while the copy is made again."""
        return await self._ask(lambda replica: replica.states()) if self._serving else []

    async def _ask(self, act: Callable[[Replica], Awaitable[Result]]) -> Result:
        if not self._serving or self._replica is None:
            raise _copying_again()
        self._requests += 1
        self._idle.clear()
        try:
            return await act(self._replica)
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
        local, self._replica = self._open_replica(partial(self._report_damage, asyncio.get_running_loop()))
        try:
            await self._replica.start()
            if not self._damaged.is_set():
                self._serving = True
                started.set()
            async with running(local.save_every(self._snapshot_s)), running(self._replica.keep_following()):
                await self._damaged.wait()
        finally:
            self._serving = False
            await self._idle.wait()
            self._replica.close()
            await asyncio.to_thread(local.close)

    def _report_damage(self, loop: asyncio.AbstractEventLoop) -> None:
        """In any thread."""
        with suppress(RuntimeError):  # the loop is closed, so nothing is served
            loop.call_soon_threadsafe(self._note_damage)

    def _note_damage(self) -> None:
        """In the event loop: no request begins after it."""
        self._serving = False
        self._damaged.set()


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
