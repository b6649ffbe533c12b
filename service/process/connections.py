"""Connections with the limits that uvicorn lacks: heads, slow clients, their number.

docs/decisions/0010-limits-by-a-protocol-subclass.md explains why they are enforced here.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import httptools
from starlette.responses import Response
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from semblance.service.api.edge.request_log import SECURITY_HEADERS
from semblance.service.api.errors import problem

SLICE = 4096  # bytes passed to the parser at once: bounds the number of pipelined requests that it emits
LINGER_S = 2.0  # how long a refused client may take to read the reason


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of every connection.

    Args:
        connections: most open connections.
        head_bytes: largest request line with headers, and largest trailers.
        head_s: longest time for a head, from the opening of the connection or from its first byte.
        stall_s: longest time in which a client reads nothing of its response.
    """

    connections: int
    head_bytes: int
    head_s: float
    stall_s: float


def connection_factory(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """The `http` option of uvicorn's configuration, which creates connections by calling it."""
    idle: dict[Connection, None] = {}
    return cast("type[asyncio.Protocol]", partial(Connection, limits, idle))


class BadHead(Exception):
    """A head that is too large, or malformed although the parser accepts it."""


class _Parser(httptools.HttpRequestParser):
    """Parser that ignores offers to upgrade the protocol (h2c, as Java's client sends).

    httptools stops after the head of such a request, as if its body were in the other protocol already. If the
    connection is to be closed after it, the parser would ignore all that follows: a new one takes its place.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._connection = connection

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # uvicorn passes bytes
        """Parse `data`; a head with an offer is parsed again without it."""
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            if not self._connection.offers_upgrade:  # it was CONNECT
                raise
            head = self._connection.head_without_upgrade()
            self._connection.parser = _Parser(self._connection)
            self._connection.parser.feed_data(head + data[stopped.args[0] :])


class _Flow(FlowControl):
    """Flow control that keeps reading paused while bytes are deferred."""

    deferred = b""

    def resume_reading(self) -> None:
        if not self.deferred:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """Connection of one client.

    While it serves no request, a deadline runs for the head of the next one, and it is registered as idle. The longest
    idle connection is evicted when there are too many.
    """

    flow: _Flow

    def __init__(self, limits: ConnectionLimits, idle: dict[Connection, None], **options: Any) -> None:
        super().__init__(**options)
        self.parser = _Parser(self)
        self._limits = limits
        self._idle = idle  # of all connections, longest idle first
        self._answered: RequestResponseCycle | None = None  # of pipelined requests, uvicorn's `cycle` is the last one
        self._in_body = False
        self.offers_upgrade = False  # whether the last parsed head does
        self._head_bytes = 0  # received since the last body data, or the end of the last head
        self._too_large = False
        self._fault = ""  # of a head that the parser accepts
        self._refused = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    @property
    def _serving(self) -> bool:
        """Whether a request is being served."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _received(self) -> bool:
        """Whether the current request was received in full: further bytes belong to the next."""
        return self._serving and (bool(self.pipeline) or not self.cycle.more_body)

    # callbacks of the transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for a request. If there are too many connections, evict the longest idle one.

        That is this one if all others are being served.
        """
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._idle[self] = None
        self._start_deadline()
        if len(self.connections) > self._limits.connections:
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that belongs to the connection."""
        self._idle.pop(self, None)
        self._stop_deadline()
        self._stop_stall_timer()
        self.flow.deferred = b""
        if self._answered is not None and not self._answered.response_complete:
            self._end_unanswered(self._answered)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse `data`, or defer it if it belongs to a later request."""
        if self._refused:
            return
        if self.flow.deferred:
            self._defer(self.flow.deferred + data)
        else:
            self._feed(data)

    def pause_writing(self) -> None:
        """Watch a client that reads its response more slowly than it is written."""
        super().pause_writing()
        self._watch_stall()

    def resume_writing(self) -> None:
        """Stop watching: the client read most of its response."""
        self._stop_stall_timer()
        super().resume_writing()

    # callbacks of the parser

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; drop trailers, as the request is already served and no route reads them."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is too large or has to be parsed again."""
        self._head_bytes = 0
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > self._limits.head_bytes:
            self._too_large = True
            raise BadHead  # the parser stops, and uvicorn calls send_400_response
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            self._fault = f"the request has {hosts} Host headers; send exactly one"
            raise BadHead
        self.offers_upgrade = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self.offers_upgrade:
            return
        self._stop_deadline()
        self._idle.pop(self, None)
        self._in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Reset the count of head bytes: only bytes between chunks are limited here."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request was received in full."""
        if self.offers_upgrade:  # its head is parsed again
            return
        self._in_body = False
        self._head_bytes = 0
        super().on_message_complete()

    def head_without_upgrade(self) -> bytes:
        """The last parsed head, without its offer to upgrade the protocol."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    # callbacks of uvicorn

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Continue with deferred bytes, or wait for the next request."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_stall()
        elif not self._serving:
            self._idle[self] = None
        if self.flow.deferred:
            self.loop.call_soon(self._feed_deferred)

    def send_400_response(self, msg: str) -> None:
        """Send 400 for bytes that the parser rejected."""
        if self._too_large:
            self._refuse_head()
        else:
            self._refuse(400, "malformed_http", self._fault or msg)

    def timeout_keep_alive_handler(self) -> None:
        """Close, and make sure that unsent bytes cannot keep the connection open."""
        super().timeout_keep_alive_handler()
        self._watch_stall()

    # limits

    def _feed(self, data: bytes) -> None:
        for start in range(0, len(data), SLICE):
            # parsing a slice may refuse the request or close the connection: the rest is then void
            if self.transport.is_closing() or self._refused:
                return
            # uvicorn queues each request that the parser emits, however many there are. So the next request is parsed
            # only when the current one is answered, and reading is paused: then the client blocks, not our memory.
            if self._received:
                self._defer(data[start:])
                return
            piece = data[start : start + SLICE]
            super().data_received(piece)
            self._count(len(piece))
        # uvicorn's keep-alive timeout ended with the first byte. Where the bytes began no request (a part of a head, a
        # blank line), only this deadline closes the connection
        if not self._serving and self._deadline is None and not self.transport.is_closing():
            self._start_deadline()

    def _count(self, length: int) -> None:
        """Reject a head, or trailers, that go on over the limit without an end.

        One slice more is allowed, since it may begin with the end of the previous message; a head that ends is measured
        exactly when it is complete.
        """
        self._head_bytes += length
        if self._head_bytes > self._limits.head_bytes + SLICE and not self._refused:
            self._refuse_head()

    def _defer(self, data: bytes) -> None:
        self.flow.pause_reading()
        self.flow.deferred = data

    def _feed_deferred(self) -> None:
        data, self.flow.deferred = self.flow.deferred, b""
        if data and not self.transport.is_closing():
            self._feed(data)
            self.flow.resume_reading()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self._limits.head_s, self._close)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self.transport.close()
        self._watch_stall()

    def _refuse_head(self) -> None:
        detail = f"the request line and headers, or the trailers, have more than {self._limits.head_bytes:,} bytes"
        self._refuse(431, "headers_too_large", detail)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Stop reading, and send the reason unless it could pass for another request's response."""
        self._refused = True
        if self._received:
            # the bytes after a valid request are bad: it gets its own answer, and the connection ends with it
            self.cycle.keep_alive = False
            return
        if self._serving:
            # the body of the request being served is bad: end its route as if the client had disconnected
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:  # a second answer would be read as part of the first
                self.transport.abort()
                return
        elif self._in_body:
            # the route answered without waiting for this body: a second answer would be read as the next request's
            self.transport.abort()
            return
        self.transport.write(self._raw(status, problem(status, code, detail)))
        # closing with unread bytes would reset the connection, and the client might never see the answer: so end only
        # our direction, and leave the client a moment to read before the connection is closed
        self.transport.write_eof()
        self._stop_deadline()
        self._deadline = self.loop.call_later(LINGER_S, self._close)

    def _raw(self, status: int, answer: Response) -> bytes:
        """The bytes of a response outside of any request."""
        answer.headers.update({**SECURITY_HEADERS, "connection": "close", "x-request-id": uuid.uuid4().hex})
        lines = [*self.server_state.default_headers, *answer.raw_headers]
        head = STATUS_LINE[status] + b"".join(name + b": " + value + b"\r\n" for name, value in lines)
        return head + b"\r\n" + bytes(answer.body)

    def _end_unanswered(self, cycle: RequestResponseCycle) -> None:
        """End a request that can get no response anymore: writing to a closed transport fails."""
        cycle.scope["client_left"] = True  # type: ignore[typeddict-unknown-key]  # for the middleware's log line
        cycle.disconnected = True
        cycle.message_event.set()

    def _watch_stall(self, left: int | None = None) -> None:
        """Abort if the client has read nothing since `left` bytes were unsent; else check later."""
        size = self.transport.get_write_buffer_size()
        if left is not None and size >= left:
            self.transport.abort()
        elif size:
            self._stop_stall_timer()
            self._stall = self.loop.call_later(self._limits.stall_s, self._watch_stall, size)

    def _stop_stall_timer(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
