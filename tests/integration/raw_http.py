"""HTTP over a bare socket, for requests that no client library sends: in pieces, too long, or never whole."""

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
    """What came back."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def dialled(url: str) -> socket.socket:
    """A connection on which nothing was said yet."""
    address = urlsplit(url)
    return socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30)


def head(method: str, path: str, *lines: str, length: int | None = None) -> bytes:
    """All of a request but its body, which is JSON if a `length` is given."""
    more = [] if length is None else ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: here", *more, *lines, "", ""]).encode()


def chunk(piece: bytes) -> bytes:
    """A piece of a body in chunks; the empty one ends it."""
    return f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


def answer_on(connection: socket.socket) -> Answer:
    """The answer to the one request that is under way."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        return Answer(answer.status, answer.headers, answer.read())


def heard_until(connection: socket.socket, mark: bytes) -> bytes:
    """What the service says, up to and with `mark`."""
    heard = b""
    while mark not in heard:
        more = connection.recv(65536)
        assert more, f"it hung up after {heard!r}"
        heard += more
    return heard


def closed_after(connection: socket.socket) -> float:
    """Seconds until the service closes a connection, on which it says nothing."""
    began = time.perf_counter()
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    return time.perf_counter() - began
