"""One of several processes that serve the same documents: the truth is in a database, and a copy of it here."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from semblance.service.deadline import bounded
from semblance.service.errors import StoreUnavailable, UnknownCollection, VersionMismatch, VersionNotReached
from semblance.service.ports.documents import NOTHING_YET, Collection, CopyStore, DocumentStore, Version
from semblance.service.ports.indexes import IndexState, VectorIndex
from semblance.service.replication.change_feed import Stopped
from semblance.service.replication.copier import TakeOver
from semblance.service.replication.local_node import LocalCollections
from semblance.service.replication.primary import Patience, Truth

log = logging.getLogger(__name__)

LONGER = 10  # times what other writes may take: to delete a collection, or what an encoder made of it
STOP_S = 1.0  # that a page which is under way may take at the end
RETRY_S = 30.0  # a collection that could not be taken over is tried again after that, or when it changes

Result = TypeVar("Result")


@dataclass(slots=True)
class _LeftOut:
    """A collection that could not be taken over, as it was then; of a stale one there is a former state here."""

    collection: Collection
    stale: bool
    again_at: float


class Replica:
    """Reads and searches the copy; writes to the truth, and brings the copy up to that before it answers.

    See `HeldCollections`. One thread asks the truth what changed. Whatever keeps it, reads and searches go on with the
    copy as it is, and what it finds is written to the copy in the writer's turn of `local`.

    Args:
        truth: the documents.
        copy: a store on this machine; nobody else changes it.
        local: the indexes of that copy.
        writers: writes to the truth at once.
        patience: how long it waits for what.
    """

    def __init__(
        self, truth: Truth, copy: CopyStore, local: LocalCollections, writers: int, patience: Patience
    ) -> None:
        self._truth = truth
        self._copy = copy
        self._local = local
        self._patience = patience
        self._closing = threading.Event()
        self._hand = _LocalHand(local, copy)
        self._take_over = TakeOver(truth.store, copy, self._hand, self._closing)
        self._asker = ThreadPoolExecutor(writers, "truth")
        self._asked: set[Future[Any]] = set()
        self._follower = ThreadPoolExecutor(1, "follower")
        self._listener = ThreadPoolExecutor(1, "listener")
        self._there: dict[str, Version] = {}  # the versions of the truth, as last seen
        self._left_out: dict[str, _LeftOut] = {}
        self._even_at = time.monotonic()  # when the copy was last as the truth, or the truth away
        self.complete = False  # whether the copy holds all that the truth held at some time

    @property
    def reachable(self) -> bool:
        """Whether the truth answers."""
        return self._truth.contact.holds

    @property
    def seconds_since_contact(self) -> float:
        """Since the truth last answered."""
        return self._truth.contact.seconds_since_answer

    @property
    def keeps_up(self) -> bool:
        """Whether the copy has been as the truth not too long ago.

        That nobody can look at the truth is not its fault; nor that a collection begins another life, or has another
        encoder.
        """
        even = max(self._even_at, self._hand.busy_at)
        return not self.reachable or self._hand.busy or time.monotonic() - even <= self._patience.behind_s

    @property
    def left_out(self) -> int:
        """Collections of the truth that could not be taken over; the log says why."""
        return len(self._left_out)

    async def start(self) -> None:
        """Load what the copy holds and catch up once; without the truth, what a former life of the copy left will do.

        Waits for the truth where there is nothing to begin with.
        """
        await self._local.follow_all()
        said = False
        while not self.complete:
            try:
                await self._in_follower(partial(self._follow_all, await self._look()))
            except StoreUnavailable as error:
                self.complete = self._holds_all()
                if self.complete:
                    log.warning("serving the copy as it was last: %s", error)
                    break
                if not said:
                    log.warning("waiting for the database, since there is no whole copy of it yet: %s", error)
                said = True
                await asyncio.sleep(self._patience.poll_s)
        self._even_at = time.monotonic()

    async def keep_following(self) -> None:
        """Follow the truth until cancelled; while one round of that takes its time, look how far it is behind."""
        round_ = asyncio.create_task(asyncio.sleep(0))
        try:
            while True:
                await self._listen()
                try:
                    there = await self._look()
                except StoreUnavailable:  # the log has heard of it
                    self._even_at = time.monotonic()
                except Exception:
                    log.exception("the truth cannot be looked at")
                    self._even_at = time.monotonic()
                    await asyncio.sleep(self._patience.poll_s)
                else:
                    if round_.done():
                        round_ = asyncio.create_task(self._round(there))
                    await asyncio.wait({round_}, timeout=self._patience.poll_s)
        finally:
            round_.cancel()

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the copy."""
        return await self._local.read(query)

    async def read_truth(self, query: Callable[[DocumentStore], Result]) -> Result:
        """What a query finds in the truth. Raises StoreUnavailable."""
        return await self._ask(query, self._patience.writes_s)

    async def write(self, name: str, change: Callable[[DocumentStore], Result]) -> Result:
        """Change the truth; what was committed is acknowledged, even if the copy cannot follow it at once."""
        return await self._write(name, change, self._patience.writes_s)

    async def _write(self, name: str, change: Callable[[DocumentStore], Result], longest_s: float) -> Result:
        result = await self._ask(change, longest_s)
        try:
            await self._catch_up(name)
        except StoreUnavailable as error:
            log.warning("a write to %s is stored, but not here yet: %s", name, error)
        except Exception:
            log.exception("a write to %s is stored, but not here yet", name)
        return result

    async def search(self, look: Callable[[DocumentStore], Result]) -> Result:
        """What a look into an index, and then into the copy, finds."""
        return await self._local.search(look)

    async def follow(self, name: str) -> VectorIndex:
        """The index of collection `name`, brought up to the copy."""
        return await self._local.follow(name)

    async def current(self, name: str, min_version: Version | None) -> tuple[Collection, VectorIndex]:
        """As `LocalCollections.current`, after another look at the truth if that is what it takes."""
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
            if not isinstance(error, StoreUnavailable):  # its disk is full, for one: others may have it
                log.exception("collection %s could not be brought up to the truth", name)
            wanted = f"not yet at {min_version}" if min_version else "still being taken over"
            raise VersionNotReached(f"collection {name!r} is {wanted} here: try again") from error
        return await self._local.current(name, min_version)

    async def switch(self, name: str) -> Version:
        """Let the next encoder of a collection be its own; every replica builds the new index before it follows."""
        return await self._write(name, lambda store: store.switch(name), LONGER * self._patience.writes_s)

    async def drop(self, name: str) -> None:
        """Delete a collection, here and everywhere. Raises UnknownCollection, StoreUnavailable."""
        await self._write(name, lambda store: store.drop(name), LONGER * self._patience.writes_s)

    async def states(self) -> list[IndexState]:
        """How every index stands beside the truth as it was last seen."""
        return [replace(state, lag=self._lag(state)) for state in await self._local.states()]

    def close(self) -> None:
        """Let go of the truth; the copy and its indexes are closed with `local`."""
        self._closing.set()
        self._listener.submit(self._truth.notices.close)  # in the thread that uses it
        last = self._follower.submit(int)
        wait({last, *self._asked}, STOP_S)  # they stop at their next page or answer, unless the truth hangs
        self._listener.shutdown(wait=False)
        self._follower.shutdown(wait=False, cancel_futures=True)
        self._asker.shutdown(wait=False, cancel_futures=True)
        self._truth.store.close()

    async def _catch_up(self, name: str) -> None:
        """Bring one collection up to the truth, if that takes no longer than a version may. Raises StoreUnavailable."""
        try:
            await asyncio.wait_for(self._in_follower(lambda: self._follow(name)), self._patience.version_s)
        except TimeoutError:
            raise StoreUnavailable(f"collection {name!r} could not be brought up to it in time: try again") from None

    async def _in_follower(self, act: Callable[[], Any]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._follower, act)

    async def _ask(self, query: Callable[[DocumentStore], Result], longest_s: float) -> Result:
        """What comes of a query in time; what comes too late has changed nothing. Raises StoreUnavailable."""
        act = bounded(lambda: query(self._truth.store), longest_s)
        asked = self._asker.submit(act)
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asked), longest_s)
        except TimeoutError:
            raise StoreUnavailable("the database does not answer in time: try again") from None

    async def _listen(self) -> None:
        """Wait for a notice, or until it is time to look without one."""
        poll_s = self._patience.poll_s
        heard = asyncio.get_running_loop().run_in_executor(
            self._listener, self._truth.notices.wait, poll_s, self._closing
        )
        with suppress(TimeoutError):  # it hangs where nobody answers
            await asyncio.wait_for(heard, poll_s + self._patience.writes_s)

    async def _look(self) -> list[Collection]:
        """What the truth holds now. Raises StoreUnavailable."""
        there = await self.read_truth(lambda store: store.collections())
        self._there = {collection.name: collection.version for collection in there}
        return there

    async def _round(self, there: Sequence[Collection]) -> None:
        began = time.monotonic()
        try:
            await self._in_follower(partial(self._follow_all, there))
            if not any(left.stale for left in self._left_out.values()):
                self._even_at = began
        except (StoreUnavailable, Stopped):  # the log has heard of it
            if not self.reachable:  # a truth that answers others, and is only too much for this one, is no excuse
                self._even_at = time.monotonic()
        except Exception:
            log.exception("the truth could not be followed this time")

    def _follow(self, name: str) -> None:
        self._take_over(name)
        self._local.settle(name)

    def _follow_all(self, found: Sequence[Collection]) -> None:
        """In the follower's thread: bring all that differs from what was found in the truth up to it."""
        there = {collection.name: collection for collection in found}
        here = {collection.name: collection for collection in self._copy.collections()}
        self._left_out = {name: each for name, each in self._left_out.items() if name in there}
        for name in there.keys() - here.keys():  # first of all it knows what it lacks
            self._if_possible(name, there[name], partial(self._take_over.announce, there[name]))
        for name in here.keys() | there.keys():
            if here.get(name) != there.get(name):
                self._if_possible(name, there.get(name), partial(self._follow, name))
        self.complete = True

    def _if_possible(self, name: str, there: Collection | None, act: Callable[[], None]) -> None:
        """A collection that cannot be taken over must not keep the others from it."""
        left = self._left_out.get(name)
        if left is not None and left.collection == there and time.monotonic() < left.again_at:
            return
        try:
            act()
        except (StoreUnavailable, Stopped):
            raise
        except Exception:
            log.exception("collection %s could not be taken over", name)
            if there is not None:
                stale = any(each.name == name for each, _ in self._copy.sizes())  # which lists what is whole
                self._left_out[name] = _LeftOut(there, stale, time.monotonic() + RETRY_S)
        else:
            self._left_out.pop(name, None)

    def _holds_all(self) -> bool:
        """Whether the copy has something to serve, and lacks nothing that it has heard of."""
        held = self._copy.collections()
        return bool(held) and all(collection.version.number != NOTHING_YET for collection in held)

    def _lag(self, state: IndexState) -> int:
        here, there = state.collection.version, self._there.get(state.collection.name)
        if there is None:
            return state.lag
        behind = there.number - here.number if there.epoch == here.epoch else there.number
        return max(0, behind) + state.lag


class _LocalHand:
    """Changes the copy in the writer's turn, so that its readers and its indexes see whole steps."""

    def __init__(self, local: LocalCollections, copy: CopyStore) -> None:
        self._local = local
        self._copy = copy
        self.busy = False
        self.busy_at = time.monotonic()  # when it last was

    def change(self, act: Callable[[], Any]) -> None:
        """Change the copy."""
        self._local.change(act)

    def begin_life(self, collection: Collection) -> None:
        """Begin, and forget the index."""
        self._local.begin_by(collection.name, lambda: self._copy.begin_life(collection))

    def switch(self, collection: Collection, number: int) -> None:
        """Switch once the index of the next encoder is built."""
        self._local.switch_by(collection.name, lambda: self._copy.take_next(collection, number))

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Be busy for the time of the block."""
        self.busy = True
        try:
            yield
        finally:
            self.busy, self.busy_at = False, time.monotonic()
