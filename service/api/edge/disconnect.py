"""A request is served for as long as its client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from semblance.service.api.edge.request_body import RequestBody

WATCHED_AFTER_S = 0.05  # what is answered sooner needs nobody to watch the connection, and most requests are


class ClientLeft(Exception):
    """The client did not wait for its answer."""


async def while_connected(serving: Awaitable[None], body: RequestBody) -> None:
    """Serve a request, unless its client leaves: then its texts leave the queue of the model too. Raises ClientLeft."""
    watch = _Watch(body)
    try:
        await serving
    except asyncio.CancelledError:
        if watch.ended_it():
            raise ClientLeft from None
        raise
    finally:
        watch.end()


class _Watch:
    """Cancels the task that made it, once the client of its request leaves."""

    def __init__(self, body: RequestBody) -> None:
        self._body = body
        self._left = False
        self._looking: asyncio.Task[None] | None = None
        self._serving = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(WATCHED_AFTER_S, self._begin)

    def ended_it(self) -> bool:
        """Whether the task was cancelled for that reason, and for no other, such as the end of the process."""
        return self._left and self._serving is not None and self._serving.uncancel() == 0

    def end(self) -> None:
        """Watch no more."""
        self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()

    def _begin(self) -> None:
        self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        await self._body.left()
        self._left = True
        if self._serving is not None:
            self._serving.cancel()
