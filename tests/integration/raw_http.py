"""HTTP over a bare socket, for requests that no client library sends: in pieces, too long, or incomplete."""

from __future__ import annotations

import json
import select
import socket
from contextlib import closing, suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from tests.support.waiting import CEILING_S

PAIR = json.dumps({"pairs": [{"a": "A cat.", "b": "A dog."}]}).encode()  # a body for POST /similarity


@dataclass(frozen=True)
class Answer:
    """An answer."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def open_connection(url: str) -> socket.socket:
    """Connect to the service."""
    address = urlsplit(url)
    return socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=CEILING_S)


def head(method: str, path: str, *lines: str, length: int | None = None) -> bytes:
    """A request without its body, which is JSON if `length` is set."""
    more = [] if length is None else ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: localhost", *more, *lines, "", ""]).encode()


def chunk(piece: bytes) -> bytes:
    """One chunk of a chunked body; the empty one ends it."""
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


def read_answer(connection: socket.socket) -> Answer:
    """Read the answer to the current request."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        return Answer(answer.status, answer.headers, answer.read())


def read_until(connection: socket.socket, mark: bytes) -> bytes:
    """Read up to and including `mark`."""
    received = b""
    while mark not in received:
        more = connection.recv(65536)
        assert more, f"the service closed after {received!r}"
        received += more
    return received


def begin_pair(url: str, *lines: str) -> socket.socket:
    """A connection whose POST /similarity is being served: all but the rest of PAIR from 10 on is sent."""
    connection = open_connection(url)
    request = head("POST", "/similarity", "expect: 100-continue", *lines, length=len(PAIR))
    connection.sendall(request + PAIR[:10])
    read_until(connection, b"100 Continue\r\n\r\n")
    return connection


def require_closed(connection: socket.socket) -> None:
    """Wait until the service closes the connection, and require that it sends nothing before."""
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""


def is_closed(connection: socket.socket) -> bool:
    """Whether the service has sent something or closed, after a byte more was sent to it."""
    try:
        connection.sendall(b" ")
    except OSError:
        return True
    return bool(select.select([connection], [], [], 0)[0])
