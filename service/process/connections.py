"""Connections held to limits that uvicorn does not have: on a request's head, on waiting, and on their number.

docs/decisions/0010-limits-by-a-protocol-subclass.md says why here.
"""

from __future__ import annotations

import asyncio
import resource
import uuid
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import httptools
from starlette.responses import Response
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from semblance.service.api.edge.checks import SECURITY_HEADERS
from semblance.service.api.errors import problem

SLICE = 4096  # bytes given to the parser at once: so few requests come out of it that are not yet served
LINGER_S = 2.0  # how long a client that was cut off may take to read why
OTHER_FILES = 256  # open files beside the connections: the store, the models, the log


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What every connection is held to.

    Args:
        connections: most open ones.
        head_bytes: largest request line with headers, and largest trailers.
        head_s: longest wait for a head to end, from the opening or from its first byte.
        stall_s: longest time in which a client takes nothing of its answer.
    """

    connections: int
    head_bytes: int
    head_s: float
    stall_s: float


def limited(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """What uvicorn makes connections by."""
    idle: dict[Connection, None] = {}
    return cast("type[asyncio.Protocol]", partial(Connection, limits, idle))


def allow_files(connections: int) -> str | None:
    """Let this process open as many files as connections need; what to tell the operator if it may not."""
    wanted = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reachable = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < reachable:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
    if reachable == wanted:
        return None
    return (
        f"SEMBLANCE_MAX_CONNECTIONS={connections} needs {wanted} open files, and this process may open only {hard}: "
        "raise the limit (ulimit -n) or lower the setting"
    )


class HeadTooLarge(Exception):
    """A request line with headers over the limit."""


class _Parser(httptools.HttpRequestParser):
    """A parser for which an offer to change the protocol (h2c, as Java's client makes it) is none.

    By itself it stops after the head of such a request, as if a body were in the other protocol already.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._connection = connection

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # uvicorn gives bytes
        """Parse it; a head with an offer is parsed again without it, and then what comes after it."""
        while True:
            try:
                super().feed_data(data)
            except httptools.HttpParserUpgrade as stopped:
                if not self._connection.offered:  # it was CONNECT
                    raise
                head = self._connection.head_without_offer()
                data = head + data[stopped.args[0] :]
            else:
                return


class _Flow(FlowControl):
    """Reading that stays paused while bytes are held back."""

    held = b""

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class InOne:
    """What an answer is written to: its head goes out together with what follows at once, which halves the writes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None
        self._begun = False

    def write(self, data: bytes) -> None:
        """Write it, or hold it back for a moment if it is the first."""
        if not self._begun:
            self._begun = True
            self._head = data
            self._loop.call_soon(self._flush)
        elif self._head is not None:
            self._transport.writelines((self._head, data))
            self._head = None
        else:
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether it takes nothing more."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Write what is held back, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head is not None:
            self._transport.write(self._head)
            self._head = None


class Connection(HttpToolsProtocol):
    """One client.

    Whenever it is not being served, a deadline runs for the head of its next request; and it stands among the idle,
    longest first, of which one has to go when there are too many connections.
    """

    flow: _Flow

    def __init__(self, limits: ConnectionLimits, idle: dict[Connection, None], **given: Any) -> None:
        super().__init__(**given)
        self.parser = _Parser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
        self._limits = limits
        self._idle = idle
        self._in_body = False
        self.offered = False  # to change the protocol, by the head that was parsed last
        self._head_bytes = 0  # that came since the last of a body, or of a head that ended
        self._too_large = False
        self._refused = False
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    @property
    def _served(self) -> bool:
        """A request is under way."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _full(self) -> bool:
        """A request is under way and nothing of it is to come: what comes belongs to the next one."""
        return self._served and (bool(self.pipeline) or not self.cycle.more_body)

    # what the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Await a request; if there are too many connections, end the one that idles longest.

        That is this one, if all others are being served.
        """
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._idle[self] = None
        self._await_head()
        if len(self.connections) > self._limits.connections:
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._idle.pop(self, None)
        self._head_came()
        self._stop_watching()
        self.flow.held = b""
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Have it parsed, unless it belongs to a request whose turn has not come."""
        if self._refused:
            return
        if self.flow.held:
            self._hold(self.flow.held + data)
        else:
            self._feed(data)

    def pause_writing(self) -> None:
        """The client takes its answer slower than it is made."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """The client took most of it."""
        self._stop_watching()
        super().resume_writing()

    # what the parser calls

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head_bytes = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it, but for trailers: nothing here reads them, and the request is under way."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A request begins."""
        self._head_bytes = 0
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > self._limits.head_bytes:
            self._too_large = True
            raise HeadTooLarge  # the parser stops, and send_400_response follows
        self.offered = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self.offered:
            return
        self._head_came()
        self._idle.pop(self, None)
        self._in_body = True
        super().on_headers_complete()
        self.cycle.transport = InOne(self.transport, self.loop)  # type: ignore[assignment]  # all it needs of one

    def on_body(self, body: bytes) -> None:
        """A piece of a body, which is not limited here; what stands between its chunks and after them is."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request ends."""
        if self.offered:  # its head is to be parsed again
            return
        self._in_body = False
        self._head_bytes = 0
        super().on_message_complete()

    def head_without_offer(self) -> bytes:
        """The head that was parsed last, without its offer to change the protocol."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    # what uvicorn calls

    def on_response_complete(self) -> None:
        """Go on with what was held back, or await the next request."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_writing()
        elif not self._served:
            self._idle[self] = None
        if self.flow.held:
            self.loop.call_soon(self._release)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser stopped at."""
        if self._too_large:
            self._refuse_head()
        else:
            self._refuse(400, "malformed_http", msg)

    def timeout_keep_alive_handler(self) -> None:
        """Close, and see to it that what is still to be sent does not keep it open."""
        super().timeout_keep_alive_handler()
        self._watch_writing()

    # our own

    def _feed(self, data: bytes) -> None:
        for start in range(0, len(data), SLICE):
            if self.transport.is_closing() or self._refused:
                return
            if self._full:
                self._hold(data[start:])
                return
            piece = data[start : start + SLICE]
            super().data_received(piece)
            self._count(len(piece))
        if not self._served and self._deadline is None and not self.transport.is_closing():
            self._await_head()

    def _count(self, length: int) -> None:
        """End a head, or trailers, that do not end.

        A head that does is measured exactly, without what came before it in a piece.
        """
        self._head_bytes += length
        if self._head_bytes > self._limits.head_bytes + SLICE and not self._refused:
            self._refuse_head()

    def _hold(self, data: bytes) -> None:
        self.flow.pause_reading()
        self.flow.held = data

    def _release(self) -> None:
        data, self.flow.held = self.flow.held, b""
        if data and not self.transport.is_closing():
            self._feed(data)
            self.flow.resume_reading()

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self._limits.head_s, self._close)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        self.transport.close()
        self._watch_writing()

    def _refuse_head(self) -> None:
        detail = f"the request line and headers, or the trailers, have more than {self._limits.head_bytes:,} bytes"
        self._refuse(431, "headers_too_large", detail)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Read no more. Say why, unless an answer is on its way: then that is the last."""
        self._refused = True
        if self._full:
            self.cycle.keep_alive = False
            return
        if self._served:  # its body cannot be parsed: for the route, the client has left
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        elif self._in_body:  # its answer was given before its body had come: another would pass for the next one's
            self.transport.abort()
            return
        self.transport.write(self._raw(status, problem(status, code, detail)))
        # closing with unread bytes would reset the connection, and the answer might never be seen
        self.transport.write_eof()
        self._head_came()
        self._deadline = self.loop.call_later(LINGER_S, self._close)

    def _raw(self, status: int, answer: Response) -> bytes:
        """An answer to what is no request."""
        answer.headers.update({**SECURITY_HEADERS, "connection": "close", "x-request-id": uuid.uuid4().hex})
        lines = [*self.server_state.default_headers, *answer.raw_headers]
        head = STATUS_LINE[status] + b"".join(name + b": " + value + b"\r\n" for name, value in lines)
        return head + b"\r\n" + bytes(answer.body)

    def _watch_writing(self, left: int | None = None) -> None:
        """Give up a client that takes nothing of its answer."""
        size = self.transport.get_write_buffer_size()
        if left is not None and size >= left:
            self.transport.abort()
        elif size:
            self._stop_watching()
            self._stall = self.loop.call_later(self._limits.stall_s, self._watch_writing, size)

    def _stop_watching(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
