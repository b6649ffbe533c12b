"""Connection to the primary: the database that holds the documents of several replicas."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from semblance.service.errors import StoreUnavailable
from semblance.service.ports.document_store import DocumentStore
from semblance.service.threads import with_deadline

log = logging.getLogger(__name__)

LONG_WRITE_FACTOR = 10  # times the timeout of other writes: to delete a collection, or the embeddings by one encoder
STOP_S = 1.0  # time for the work under way to end at shutdown

WARN_S = 60.0  # between warnings of a start that waits

Result = TypeVar("Result")


class Notices(Protocol):
    """Notifications of writes to the primary. Some may be missed, so a replica also polls."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        """Return at the next notification, after `longest_s`, or when `stop` is set."""

    def close(self) -> None:
        """Close the connection."""


class StoreHealth(Protocol):
    """Connection health of the primary."""

    @property
    def healthy(self) -> bool:
        """Whether the last query succeeded, and no running one exceeds the timeout."""

    @property
    def seconds_since_answer(self) -> float:
        """Seconds since the last response, or since the start."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: of a write, between polls, until a version arrives, of the lag."""

    write_s: float
    poll_s: float
    version_s: float
    lag_s: float


class StartWait:
    """Waits of a start for the database, which are logged at most once a minute.

    Args:
        reason: why the start waits, in the log.
        poll_s: seconds of each wait.
        clock: in seconds.
    """

    def __init__(self, reason: str, poll_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._reason = reason
        self._poll_s = poll_s
        self._clock = clock
        self._warned_at = -math.inf

    async def after(self, error: StoreUnavailable) -> None:
        """Wait after a failure. Raises it if the database refuses this process for good."""
        if error.refusal:
            raise error
        if self._clock() - self._warned_at >= WARN_S:
            log.warning("%s: %s", self._reason, getattr(error.__cause__, "orig", error))
            self._warned_at = self._clock()
        await asyncio.sleep(self._poll_s)


class Primary:
    """Runs queries of the database in threads, within timeouts, and waits for its notifications.

    Args:
        store: its documents.
        health: of the connection.
        notices: of writes.
        threads: number of concurrent queries.
        timeouts: how long to wait for what.
    """

    def __init__(
        self, store: DocumentStore, health: StoreHealth, notices: Notices, threads: int, timeouts: Timeouts
    ) -> None:
        self.store = store
        self.timeouts = timeouts
        self._health = health
        self._notices = notices
        self._closing = threading.Event()
        self._queries = ThreadPoolExecutor(threads, "primary")
        self._pending: set[Future[Any]] = set()
        self._listener = ThreadPoolExecutor(1, "listener")

    @property
    def reachable(self) -> bool:
        """Whether it is reachable."""
        return self._health.healthy

    @property
    def writable(self) -> bool:
        """Whether the last write of this replica met no failure of its disk."""
        return self.store.writable

    @property
    def seconds_since_contact(self) -> float:
        """Seconds since its last response."""
        return self._health.seconds_since_answer

    async def run(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query. After its timeout, it commits nothing. Raises StoreUnavailable."""
        return await self._run(query, self.timeouts.write_s)

    async def run_long(self, query: Callable[[DocumentStore], Result]) -> Result:
        """Run a query that may take several times as long as others. Raises StoreUnavailable."""
        return await self._run(query, LONG_WRITE_FACTOR * self.timeouts.write_s)

    async def _run(self, query: Callable[[DocumentStore], Result], timeout_s: float) -> Result:
        future = self._queries.submit(with_deadline(lambda: query(self.store), timeout_s))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StoreUnavailable("the database does not answer in time; retry") from None

    async def wait_for_change(self) -> None:
        """Wait for a notification, or until the next poll is due."""
        poll_s = self.timeouts.poll_s
        notified = asyncio.get_running_loop().run_in_executor(self._listener, self._notices.wait, poll_s, self._closing)
        with suppress(TimeoutError):  # its connection may hang
            async with asyncio.timeout(poll_s + self.timeouts.write_s):
                await notified

    def close(self) -> None:
        """Disconnect, after running queries have ended or `STOP_S`."""
        self._closing.set()
        self._listener.submit(self._notices.close)  # in the thread that uses it
        wait(set(self._pending), STOP_S)
        self._queries.shutdown(wait=False, cancel_futures=True)
        self._listener.shutdown(wait=False)
        self.store.close()
