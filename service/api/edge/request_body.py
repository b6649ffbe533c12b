"""Bodies of requests, limited in size, time and values; the middleware for their headers."""

from __future__ import annotations

import asyncio
import re
import time
import zlib
from dataclasses import dataclass, replace

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.service.api.edge.context import GZIP, IDENTITY, RequestContext, context_of, is_documents, rejection
from semblance.service.api.paths import FILES
from semblance.service.observability.metrics import Metrics

MAX_VALUES = 100_000
ENCODINGS = f"{GZIP}, {IDENTITY}"  # of bodies that are read
INFLATED = 65_536  # bytes that are decompressed at once

_GZIP_FORMAT = 16 + zlib.MAX_WBITS  # as zlib numbers it
_NOT_GZIP = "the body is not valid gzip, which its content-encoding says"
_JSON = re.compile(r"application/([\w.-]+\+)?json\s*(;.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of a request body. NDJSON is limited by line instead, and in its pauses.

    Args:
        max_bytes: largest body.
        pause_s: longest pause within a body.
        timeout_s: longest time for a whole body.
        max_file_bytes: largest body of the route that reads files.
    """

    max_bytes: int
    pause_s: float
    timeout_s: float
    max_file_bytes: int = 0

    def of(self, path: str) -> BodyLimits:
        """The limits of a path."""
        return replace(self, max_bytes=self.max_file_bytes) if path == FILES else self

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
    `[],[],[]`, during which no other request is served. Strings are not counted. A valid text has at most one entry
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


class Gunzip:
    """Decompress a gzip body, in pieces cut anywhere, into parts of at most `INFLATED` bytes.

    A piece may inflate to a thousand times its size. So the limits see each of its parts before the next one exists.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_FORMAT)
        self._data = b""
        self._more = False

    @property
    def more(self) -> bool:
        """Whether there may be another part before the next piece."""
        return self._more

    def add(self, piece: bytes) -> None:
        """Add the next piece, after all parts of the earlier ones."""
        self._data, self._more = piece, True

    def part(self) -> bytes:
        """The next part, possibly empty. Raises zlib.error: the body is not gzip."""
        if self._member.eof and self._data:  # several files in one, as of parallel compressors
            self._member = zlib.decompressobj(_GZIP_FORMAT)
        part = self._member.decompress(self._data, INFLATED)
        self._data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._more = bool(self._data) or len(part) == INFLATED
        return part

    @property
    def complete(self) -> bool:
        """Whether the body may end here."""
        return self._member.eof


def too_many_values(text: bytes) -> bool:
    """Whether a complete text should not be parsed."""
    if len(text) <= MAX_VALUES:
        return False
    values = JsonValues()
    values.add(text)
    return values.too_many


class RequestBody:
    """Messages of one body, limited as they come: its declared length may be wrong or missing.

    A streamed body is read line by line, so only its pauses are limited. What a compressed body inflates to is limited
    in the same way. A body that no header announces is
    complete from the start: many routes never read it, but a disconnect must be noticed all the same.
    """

    def __init__(
        self,
        receive: Receive,
        limits: BodyLimits,
        *,
        streamed: bool,
        announced: bool = True,
        zipped: bool = False,
    ) -> None:
        self._receive = receive
        self._limits = limits
        self._streamed = streamed
        self._bytes = 0
        self._values = JsonValues()
        self._gunzip = Gunzip() if zipped else None
        self._received = False  # the last piece, of which there may be more parts
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
        message = await (self._receive() if over else self._next())
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

    async def _next(self) -> Message:
        """The next message of the body, decompressed."""
        if self._gunzip is None:
            return await self._in_time()
        if self._gunzip.more:
            await asyncio.sleep(0)  # other requests are served between the parts of a piece
        else:
            message = await self._in_time()
            if message["type"] == "http.disconnect":
                return message
            self._gunzip.add(message.get("body", b""))
            self._received = not message.get("more_body")
        try:
            part = self._gunzip.part()
        except zlib.error:
            raise HTTPException(400, _NOT_GZIP) from None
        more = self._gunzip.more or not self._received
        if not more and not self._gunzip.complete:
            raise HTTPException(400, f"{_NOT_GZIP}: its end is missing")
        return {"type": "http.request", "body": part, "more_body": more}

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


class BodyCheck:
    """Middleware: rejects requests whose headers announce a body that cannot be read."""

    def __init__(self, app: ASGIApp, metrics: Metrics, limits: BodyLimits) -> None:
        self._app = app
        self._metrics = metrics
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it before any of its body is read."""
        await (self._rejected(context_of(scope)) or self._app)(scope, receive, send)

    def _rejected(self, context: RequestContext) -> Response | None:
        headers = context.headers
        if context.method not in ("POST", "PUT", "PATCH") or not context.has_body:  # no other route reads a body
            return None
        if context.encoding not in (GZIP, IDENTITY):
            detail = "send the body compressed by gzip, or uncompressed without content-encoding"
            response = rejection(self._metrics, 415, "unsupported_content_encoding", detail)
            response.headers["accept-encoding"] = ENCODINGS
            return response
        if context.streamed:
            return None
        length = headers.get("content-length", "")
        limits = self._limits.of(context.path)
        if length.isdigit() and int(length) > limits.max_bytes:
            return rejection(self._metrics, 413, "body_too_large", limits.too_large())
        if not _JSON.fullmatch(headers.get("content-type", "")):
            lines = ", or documents as application/x-ndjson" if is_documents(context.path) else ""
            detail = f"send the body as content-type: application/json{lines}"
            return rejection(self._metrics, 415, "unsupported_media_type", detail)
        return None
