"""What stands between the network and the routes, as the envelope is told: keys, origins, time, and the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive

from service.api.keys import Guard
from service.draining import Draining

# an answer may set its own policy; the others load nothing, stand in no frame, and leave no trace
SECURITY_HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_EXPOSED = ("retry-after", "server-timing", "www-authenticate", "x-request-id")


@dataclass(frozen=True, slots=True)
class Edge:
    """What every request meets before its route.

    Args:
        guard: who may call what.
        draining: whether anybody may.
        origins: whose pages may call from a browser.
        body_pause_s: longest pause within a body.
        body_timeout_s: longest time for a whole body; one of NDJSON is not held to it.
    """

    guard: Guard = field(default_factory=Guard)
    draining: Draining = field(default_factory=Draining)
    origins: tuple[str, ...] = ()
    body_pause_s: float = 10.0
    body_timeout_s: float = 60.0

    def cors(self, app: ASGIApp) -> ASGIApp:
        """`app` for the pages of other origins too, where any are allowed."""
        if not self.origins:
            return app
        return CORSMiddleware(
            app,
            allow_origins=self.origins,
            allow_methods=("GET", "POST", "PUT", "DELETE"),
            allow_headers=("authorization", "content-type", "x-request-id"),
            expose_headers=_EXPOSED,
        )

    def in_time(self, receive: Receive, *, streamed: bool) -> Receive:
        """`receive` that waits for a body only so long; a streamed one may take its time as a whole."""
        return _Timed(receive, self.body_pause_s, None if streamed else self.body_timeout_s)


class _Timed:
    """The body of a request as it comes in; what comes after it, the news that the client left, may take any time."""

    def __init__(self, receive: Receive, pause_s: float, timeout_s: float | None) -> None:
        self._receive = receive
        self._pause_s = pause_s
        self._timeout_s = timeout_s
        self._ends: float | None = None  # set at the first piece asked for: a route may look at other things first
        self._whole = False

    async def __call__(self) -> Message:
        """The next message."""
        if self._whole:
            return await self._receive()
        now = time.monotonic()
        if self._ends is None and self._timeout_s is not None:
            self._ends = now + self._timeout_s
        wait_s = self._pause_s if self._ends is None else min(self._pause_s, self._ends - now)
        try:
            async with asyncio.timeout(wait_s):
                message = await self._receive()
        except TimeoutError:
            # what is still to come of the body would be taken for the next request
            raise HTTPException(408, self._late(), {"connection": "close"}) from None
        self._whole = not message.get("more_body")
        return message

    def _late(self) -> str:
        whole = "" if self._timeout_s is None else f", and the whole within {self._timeout_s:g} s"
        return f"the body did not come in time: no pause in it may exceed {self._pause_s:g} s{whole}"
