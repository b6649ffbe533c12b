"""The body of a request, limited in size, time and values; and the disconnect of its client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

MAX_VALUES = 100_000
WATCH_AFTER_S = 0.005  # many requests are answered sooner, and need no task that watches for a disconnect


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of a request body. NDJSON is limited by line instead, and in its pauses.

    Args:
        max_bytes: largest body.
        pause_s: longest pause within a body.
        timeout_s: longest time for a whole body.
    """

    max_bytes: int
    pause_s: float
    timeout_s: float

    def too_large(self) -> str:
        """The message for a body with more bytes."""
        return f"the body exceeds the limit of {self.max_bytes:,} bytes; send less at a time"

    def too_late(self, *, streamed: bool) -> str:
        """The message for a body that timed out."""
        whole = "" if streamed else f", and the whole within {self.timeout_s:g} s"
        return f"the body did not come in time: no pause in it may exceed {self.pause_s:g} s{whole}"


class JsonValues:
    """Count the entries of lists and objects in a JSON text, which comes in pieces cut anywhere.

    Parsing holds the interpreter's lock: 10 ms for eight megabytes of text, but two seconds for eight megabytes of
    `[],[],[]`, during which no other request is answered. Strings are not counted. A valid text has at most one entry
    more than `count`; UTF-16 and UTF-32, in which quotes are not single bytes, are counted by their zero bytes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._in_string = False
        self._escaped = False

    def add(self, piece: bytes) -> None:
        """Count the next piece of the text."""
        if self._escaped and piece:
            piece = piece[1:]
        elif self._escaped:
            return
        piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._escaped = piece.endswith(b"\\")
        parts = piece.split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        self.count += sum(map(outside.count, (b",", b"[", b"{"))) + piece.count(b"\0")

    @property
    def too_many(self) -> bool:
        """Whether the text should not be parsed."""
        return self.count > MAX_VALUES


def too_many_values(text: bytes) -> bool:
    """Whether a complete text should not be parsed."""
    if len(text) <= MAX_VALUES:
        return False
    values = JsonValues()
    values.add(text)
    return values.too_many


class RequestBody:
    """Messages of one body, limited as they come: its declared length may be wrong or missing.

    A streamed body is read, and answered, line by line: only its pauses are limited. A body that no header announces is
    complete from the start: many routes never read it, but a disconnect must be noticed all the same.
    """

    def __init__(self, receive: Receive, limits: BodyLimits, *, streamed: bool, announced: bool = True) -> None:
        self._receive = receive
        self._limits = limits
        self._streamed = streamed
        self._bytes = 0
        self._values = JsonValues()
        self._deadline: float | None = None  # set at the first read: a route may do other work first
        self._complete = asyncio.Event()
        self._report_empty = not announced  # `disconnected` may have taken the server's own message for it
        if not announced:
            self._complete.set()
        self.aborted = False  # the client disconnected before it had sent everything

    async def receive(self) -> Message:
        """The next message; after the end of the body only a disconnect follows, at any time."""
        if self._report_empty:
            self._report_empty = False
            return {"type": "http.request", "body": b"", "more_body": False}
        over = self._complete.is_set() or self.aborted
        message = await (self._receive() if over else self._in_time())
        if not self._streamed:
            self._check(message.get("body", b""))
        if message["type"] == "http.disconnect":
            self.aborted = not self._complete.is_set()
        elif not message.get("more_body"):
            self._complete.set()
        return message

    def _check(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if self._bytes > self._limits.max_bytes:
            raise HTTPException(413, self._limits.too_large())
        self._values.add(piece)
        if self._values.too_many:
            raise HTTPException(413, f"the body exceeds the limit of {MAX_VALUES:,} values; send less at a time")

    async def disconnected(self) -> None:
        """Return when the client disconnects after it has sent its body."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _in_time(self) -> Message:
        try:
            async with asyncio.timeout(self._wait_s()):
                return await self._receive()
        except TimeoutError:
            # the rest of the body would be parsed as the next request
            raise HTTPException(408, self._limits.too_late(streamed=self._streamed), {"connection": "close"}) from None

    def _wait_s(self) -> float:
        """The longest time for the next piece."""
        if self._streamed:
            return self._limits.pause_s
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._limits.timeout_s
        return min(self._limits.pause_s, self._deadline - now)


class ClientLeft(Exception):
    """The client disconnected before its answer."""


async def while_connected(serving: Awaitable[None], body: RequestBody) -> None:
    """Serve a request, and cancel it when its client disconnects.

    Then its texts leave the queue of the model.

    Raises:
        ClientLeft: the client disconnected.
    """
    watch = _DisconnectWatch(body)
    try:
        await serving
    except asyncio.CancelledError:
        if watch.cancelled_it():
            raise ClientLeft from None
        raise
    finally:
        watch.stop()


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
