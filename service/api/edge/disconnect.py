"""Middleware: cancel a request when its client disconnects."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from semblance.service.api.edge.context import GZIP, context_of
from semblance.service.api.edge.request_body import BodyLimits, RequestBody

WATCH_AFTER_S = 0.005  # many requests are answered sooner, and need no task that watches for a disconnect


class ClientLeft(Exception):
    """The client disconnected before the response."""


class Disconnect:
    """Reads the body within its limits, and cancels the request when its client disconnects.

    Then its texts leave the queue of the model.
    """

    def __init__(self, app: ASGIApp, limits: BodyLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Raises ClientLeft: the client disconnected."""
        context = context_of(scope)
        body = RequestBody(
            receive,
            self._limits.of(context.path),
            streamed=context.streamed,
            announced=context.has_body,
            zipped=context.encoding == GZIP,
        )
        watch = _DisconnectWatch(body)
        try:
            await self._app(scope, body.receive, send)
        except asyncio.CancelledError:
            if watch.cancelled_it():
                raise ClientLeft from None
            raise
        finally:
            watch.stop()
            if body.aborted:
                scope["client_left"] = True


class _DisconnectWatch:
    """Cancels the task that created it once the client of its request disconnects."""

    def __init__(self, body: RequestBody) -> None:
        self._body = body
        self._disconnected = False
        self._watcher: asyncio.Task[None] | None = None
        self._serving = asyncio.current_task()
        self._timer = asyncio.get_running_loop().call_later(WATCH_AFTER_S, self._start)

    def cancelled_it(self) -> bool:
        """Whether the task was cancelled for the disconnect alone, not for shutdown as well."""
        return self._disconnected and self._serving is not None and self._serving.uncancel() == 0

    def stop(self) -> None:
        """Stop watching."""
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    def _start(self) -> None:
        self._watcher = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        await self._body.disconnected()
        self._disconnected = True
        if self._serving is not None:
            self._serving.cancel()
