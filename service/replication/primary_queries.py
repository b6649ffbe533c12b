"""Queries of the primary in threads, within timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from semblance.service.errors import StoreUnavailable
from semblance.service.ports.documents import DocumentStore
from semblance.service.threads import with_deadline

Result = TypeVar("Result")


class PrimaryQueries:
    """Runs queries of a store in a pool of threads. After its timeout, a query commits nothing.

    Args:
        store: the primary.
        threads: number of concurrent queries.
        name: of the threads.
    """

    def __init__(self, store: DocumentStore, threads: int, name: str) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(threads, name)
        self._pending: set[Future[Any]] = set()

    async def run(self, query: Callable[[DocumentStore], Result], timeout_s: float) -> Result:
        """Run a query within a timeout. Raises StoreUnavailable."""
        future = self._threads.submit(with_deadline(lambda: query(self._store), timeout_s))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StoreUnavailable("the database does not answer in time; retry") from None

    def close(self, longest_s: float) -> None:
        """Wait for running queries, for up to `longest_s`."""
        wait(set(self._pending), longest_s)
        self._threads.shutdown(wait=False, cancel_futures=True)
