"""Keep a local copy of the primary up to date."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Container, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

from semblance.service.errors import StoreUnavailable
from semblance.service.ports.document_store import CopyStore
from semblance.service.ports.documents import INCOMPLETE_VERSION, Collection, Version
from semblance.service.ports.indexes import IndexState
from semblance.service.replication.change_feed import Stopped
from semblance.service.replication.copier import Copier
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import STOP_S, Primary, StartWait
from semblance.service.replication.retries import log_failure

log = logging.getLogger(__name__)

RETRY_S = 30.0  # a collection that could not be copied is tried again after this, or when it changes


@dataclass(slots=True)
class _FailedCopy:
    """A collection that could not be copied; `stale` if an earlier version is served."""

    collection: Collection
    stale: bool
    retry_at: float
    log_from: float  # further failures are not logged before


class Follower:
    """Copies what changed in the primary, in one thread.

    Its changes to the copy run in the writer thread of `local`, so reads and searches continue with the copy as it is.

    Args:
        primary: the database of all replicas.
        copy: a store on this machine; no other process changes it.
        local: serves that copy and its indexes.
        clock: in seconds; measures the lag, and when to try a copy again.
    """

    def __init__(self, primary: Primary, copy: CopyStore, local: LocalNode, clock: Callable[[], float]) -> None:
        self._primary = primary
        self._copy = copy
        self._local = local
        self._clock = clock
        self._closing = threading.Event()
        self._copier = Copier(primary.store, copy, local, self._closing, clock=clock)
        self._thread = ThreadPoolExecutor(1, "follower")
        self._primary_versions: dict[str, Version] = {}  # as last read
        self._failed: dict[str, _FailedCopy] = {}
        self._caught_up_at = clock()  # when the copy last equaled the primary, or the primary was unreachable
        self.complete = False  # whether the copy has ever held all collections of the primary

    @property
    def keeps_up(self) -> bool:
        """Whether the copy lags no more than it may.

        Time in which the primary is unreachable, or a whole collection is copied (its epoch or encoder is new), does
        not count.
        """
        caught_up_at = max(self._caught_up_at, self._copier.last_full_copy_at)
        return not self._primary.reachable or self._clock() - caught_up_at <= self._primary.timeouts.lag_s

    @property
    def failed_collections(self) -> Set[str]:
        """Names of the collections of the primary that could not be copied; the log has the reasons."""
        return set(self._failed)

    async def start(self) -> None:
        """Load the copy and catch up once; without the primary, serve a complete copy as it is.

        Waits for the primary if the copy is incomplete. Raises StoreUnavailable if it refuses this process for good.
        """
        await self._local.refresh_indexes()
        timeouts = self._primary.timeouts
        waiting = StartWait("waiting for the database, since its copy is incomplete", timeouts.poll_s, self._clock)
        while not self.complete:
            try:
                await self._in_thread(partial(self._bring_up_all, *await self._read_primary()))
            except StoreUnavailable as error:
                self.complete = self._copy_is_complete()
                if self.complete:
                    log.warning("serving the last state of the copy: %s", error)
                    break
                await waiting.after(error)
        self._caught_up_at = self._clock()

    async def keep_following(self) -> None:
        """Follow the primary and measure the lag, until cancelled."""
        round_ = asyncio.create_task(asyncio.sleep(0))
        try:
            while True:
                await self._primary.wait_for_change()
                try:
                    read = await self._read_primary()
                except StoreUnavailable:  # already logged
                    self._caught_up_at = self._clock()
                except Exception:
                    # An unreadable primary, such as one with newer tables, affects every replica: none is behind the
                    # others, and if all reported that they do not keep up, no copy would be served.
                    log.exception("the collections of the primary could not be read; retrying")
                    self._caught_up_at = self._clock()
                    await asyncio.sleep(self._primary.timeouts.poll_s)
                else:
                    # A round may take minutes, for a large collection. It runs in its own task, while this loop keeps
                    # reading the primary's versions, so that the reported lag grows; only one round runs at a time.
                    if round_.done():
                        round_ = asyncio.create_task(self._round(*read))
                    await asyncio.wait({round_}, timeout=self._primary.timeouts.poll_s)
        finally:
            round_.cancel()

    async def catch_up(self, name: str) -> None:
        """Bring one collection up to the primary, within a timeout. Raises StoreUnavailable."""
        try:
            async with asyncio.timeout(self._primary.timeouts.version_s):
                await self._in_thread(partial(self._bring_up_with_aliases, name))
        except TimeoutError:
            raise StoreUnavailable(f"collection {name!r} did not catch up in time; retry") from None

    def lag(self, state: IndexState) -> int:
        """Number of versions by which an index is behind the primary, as last read."""
        here, there = state.collection.version, self._primary_versions.get(state.collection.name)
        if there is None:
            return state.lag
        behind = there.number - here.number if there.epoch == here.epoch else there.number
        return max(0, behind) + state.lag

    def close(self) -> None:
        """Stop at the next page or response, or after `STOP_S` if the primary hangs."""
        self._closing.set()
        wait({self._thread.submit(int)}, STOP_S)
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, act: Callable[[], Any]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, act)

    async def _read_primary(self) -> tuple[list[Collection], Mapping[str, str]]:
        """Read collections and aliases of the primary, and note versions. Raises StoreUnavailable."""
        collections, aliases = await self._primary.run(lambda store: store.collections_and_aliases())
        self._primary_versions = {collection.name: collection.version for collection in collections}
        return collections, aliases

    async def _round(self, collections: Sequence[Collection], aliases: Mapping[str, str]) -> None:
        """Bring the copy up to `collections` and `aliases`, and record when it equaled them."""
        began = self._clock()
        try:
            await self._in_thread(partial(self._bring_up_all, collections, aliases))
            # The copy equals what was read before the round began; later writes are not in it, so the time of the end
            # would hide the lag. A collection that was never copied is reported as failed, not as lag.
            if not any(failed.stale for failed in self._failed.values()):
                self._caught_up_at = began
        except (StoreUnavailable, Stopped):  # already logged
            # A primary that answers queries, but is too slow for this copy, must not hide the lag.
            if not self._primary.reachable:
                self._caught_up_at = self._clock()
        except Exception:
            log.exception("the primary could not be followed; retrying")

    def _bring_up(self, name: str) -> None:
        self._copier(name)
        self._local.refresh_or_drop(name)

    def _bring_up_with_aliases(self, name: str) -> None:
        aliases = self._primary.store.aliases()  # read first: what they lead to is then brought up to this moment
        self._bring_up(name)
        self._follow_aliases(aliases, [name])

    def _bring_up_all(self, collections: Sequence[Collection], aliases: Mapping[str, str]) -> None:
        """In the thread: bring every collection of the copy that differs up to the primary."""
        sources = {collection.name: collection for collection in collections}
        copies = {collection.name: collection for collection in self._copy.collections()}
        self._failed = {name: failed for name, failed in self._failed.items() if name in sources}
        for name in sources.keys() - copies.keys():  # first, so that an interrupted copy knows that it is incomplete
            self._try(name, sources[name], partial(self._copier.announce, sources[name]))
        for name, source in sources.items():
            if copies.get(name) != source:
                self._try(name, source, partial(self._bring_up, name))
        self._follow_aliases(aliases, sources.keys() - self._failed.keys())
        for name in copies.keys() - sources.keys():  # last: an alias may have led to it
            self._try(name, None, partial(self._bring_up, name))
        self.complete = True

    def _follow_aliases(self, aliases: Mapping[str, str], brought_up: Container[str]) -> None:
        """In the thread: switch aliases to collections that were brought up, and no others."""
        now = self._copy.aliases()
        whole = {each.name for each in self._copy.collections() if each.version.number != INCOMPLETE_VERSION}
        ready = {name: target for name, target in aliases.items() if target in brought_up and target in whole}
        followed = {name: target for name, target in now.items() if name in aliases} | ready
        if followed != now:
            self._local.run_as_writer(partial(self._copy.replace_aliases, followed))

    def _try(self, name: str, source: Collection | None, act: Callable[[], None]) -> None:
        """Run `act`, so that a collection that cannot be copied does not keep the others from it."""
        failed, now = self._failed.get(name), self._clock()
        if failed is not None and failed.collection == source and now < failed.retry_at:
            return
        try:
            act()
        except (StoreUnavailable, Stopped):
            raise
        except Exception as error:  # noqa: BLE001 - it is logged
            log_from = failed.log_from if failed else now
            if now >= log_from:
                log_failure(log, f"collection {name} could not be copied; retrying in {RETRY_S:g} s at most", error)
                log_from = now + RETRY_S
            if source is not None:
                stale = any(collection.name == name for collection, _ in self._copy.sizes())  # only complete ones
                self._failed[name] = _FailedCopy(source, stale, self._clock() + RETRY_S, log_from)
        else:
            self._failed.pop(name, None)

    def _copy_is_complete(self) -> bool:
        """Whether the copy has collections to serve, all of them complete."""
        collections = self._copy.collections()
        return bool(collections) and all(collection.version.number != INCOMPLETE_VERSION for collection in collections)
