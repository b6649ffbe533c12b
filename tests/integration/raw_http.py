"""HTTP over a bare socket, for requests that no client library sends: in pieces, too long, or incomplete."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

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
    return socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30)


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


def seconds_until_closed(connection: socket.socket) -> float:
    """Seconds until the service closes a connection without sending anything."""
    began = time.perf_counter()
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    return time.perf_counter() - began
