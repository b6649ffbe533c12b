"""The body of a request as the routes receive it, held to limits on its size and its time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from semblance.service.api.json_values import MOST_VALUES, JsonValues


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """What a body is held to.

    Args:
        max_bytes: largest one; one of NDJSON is not held to it.
        pause_s: longest pause within one.
        timeout_s: longest time for a whole one; nor is NDJSON held to this.
    """

    max_bytes: int
    pause_s: float
    timeout_s: float

    def too_large(self) -> str:
        """What to say of a body with more bytes."""
        return f"the body has more than {self.max_bytes:,} bytes: send less at a time"

    def too_late(self, *, streamed: bool) -> str:
        """What to say of a body that did not come."""
        whole = "" if streamed else f", and the whole within {self.timeout_s:g} s"
        return f"the body did not come in time: no pause in it may exceed {self.pause_s:g} s{whole}"


class RequestBody:
    """One body, up to the limits: its length may be wrong or not given.

    A streamed one is read, and answered, line by line: only its pauses are limited. Where the headers announce none, it
    is whole from the start: many routes never ask for it, and yet it must be noticed that their client leaves.
    """

    def __init__(self, receive: Receive, limits: BodyLimits, *, streamed: bool, announced: bool = True) -> None:
        self._receive = receive
        self._limits = limits
        self._streamed = streamed
        self._taken = 0
        self._values = JsonValues()
        self._ends: float | None = None  # set at the first piece asked for: a route may look at other things first
        self._whole = asyncio.Event()
        self._to_tell = not announced  # to the route, that there is no body: `left` may take the message that says so
        if not announced:
            self._whole.set()
        self.broken_off = False  # the client left before it had sent everything

    async def receive(self) -> Message:
        """The next message; after the last of the body nothing comes but the news that the client left, at any time."""
        if self._to_tell:
            self._to_tell = False
            return {"type": "http.request", "body": b"", "more_body": False}
        over = self._whole.is_set() or self.broken_off
        message = await (self._receive() if over else self._in_time())
        if not self._streamed:
            self._check(message.get("body", b""))
        if message["type"] == "http.disconnect":
            self.broken_off = not self._whole.is_set()
        elif not message.get("more_body"):
            self._whole.set()
        return message

    def _check(self, piece: bytes) -> None:
        self._taken += len(piece)
        if self._taken > self._limits.max_bytes:
            raise HTTPException(413, self._limits.too_large())
        self._values.add(piece)
        if self._values.too_many:
            raise HTTPException(413, f"the body has more than {MOST_VALUES:,} values: send less at a time")

    async def left(self) -> None:
        """Return when the client leaves after it sent its body."""
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _in_time(self) -> Message:
        try:
            async with asyncio.timeout(self._wait_s()):
                return await self._receive()
        except TimeoutError:
            # what is still to come of the body would be taken for the next request
            raise HTTPException(408, self._limits.too_late(streamed=self._streamed), {"connection": "close"}) from None

    def _wait_s(self) -> float:
        """How long the next piece may take."""
        if self._streamed:
            return self._limits.pause_s
        now = time.monotonic()
        if self._ends is None:
            self._ends = now + self._limits.timeout_s
        return min(self._limits.pause_s, self._ends - now)
