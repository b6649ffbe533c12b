"""Clients that cost next to nothing: prepared requests over plain connections, whose answers are read and not parsed.

They share the machine with the server that they measure, so they note the processor time that they take themselves.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self
from urllib.parse import urlsplit

import uvloop

READ_AHEAD = 2**20  # bytes of an answer that a connection holds before anybody reads them


@dataclass(frozen=True, slots=True)
class Load:
    """Requests by so many clients: each asks again as soon as it is answered, or all together `per_second` times.

    It is over when the requests are, if they have an end.
    """

    requests: Iterator[bytes]
    clients: int
    per_second: float | None = None


@dataclass(slots=True)
class Answered:
    """What the clients of a load saw: the seconds of each request, and from the first request to the last answer."""

    seconds: list[float] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def per_second(self) -> float:
        """Requests answered a second."""
        return len(self.seconds) / self.wall_s


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of loads at the same time; what share of one core the clients themselves took."""

    loads: list[Answered]
    own_share: float


class Connection:
    """One that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, url: str) -> Self:
        """To the server of that address."""
        address = urlsplit(url)
        return cls(*await asyncio.open_connection(address.hostname, address.port, limit=READ_AHEAD))

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer.

        Raises:
            RuntimeError: it was not 200; the message holds the beginning of the answer.
        """
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in head if line.startswith(b"content-length:"))
        body = await self._reader.readexactly(length)
        if b" 200 " not in head[0]:
            raise RuntimeError(f"{request[:60]!r} got {head[0]!r}: {body[:300]!r}")
        return body

    def close(self) -> None:
        """End it."""
        self._writer.close()


def post(path: str, body: Any) -> bytes:
    """A request as it goes over the wire."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


def get(path: str) -> bytes:
    """The same without a body."""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


def ask_all(url: str, requests: Iterable[bytes]) -> list[bytes]:
    """The bodies of the answers to some requests, one after the other."""

    async def ask() -> list[bytes]:
        connection = await Connection.open(url)
        bodies = [await connection.ask(request) for request in requests]
        connection.close()
        return bodies

    return uvloop.run(ask())


def put_under(url: str, seconds: float, *loads: Load) -> Seen:
    """Put a server under some loads at once. What is under way when the time is over is waited for, and counts."""
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    answered = uvloop.run(_all(url, seconds, loads))
    return Seen(answered, (time.process_time() - began_cpu_s) / (time.perf_counter() - began_s))


async def _all(url: str, seconds: float, loads: Iterable[Load]) -> list[Answered]:
    return list(await asyncio.gather(*(_load(url, seconds, load) for load in loads)))


async def _load(url: str, seconds: float, load: Load) -> Answered:
    connections = [await Connection.open(url) for _ in range(load.clients)]
    answered, began = Answered(), time.perf_counter()
    clients = (_client(each, load, number, (began, began + seconds)) for number, each in enumerate(connections))
    for its_seconds in await asyncio.gather(*clients):
        answered.seconds += its_seconds
    answered.wall_s = time.perf_counter() - began
    for each in connections:
        each.close()
    return answered


async def _client(connection: Connection, load: Load, number: int, span: tuple[float, float]) -> list[float]:
    """The seconds of each of its requests.

    At a given rate, a request that must wait for the one before it is late from the moment it was due.
    """
    began, ends = span
    seconds: list[float] = []
    for turn in count():
        asked = time.perf_counter()
        if load.per_second is not None:
            due = began + (turn * load.clients + number) / load.per_second
            if due > asked:
                await asyncio.sleep(due - asked)
                asked = time.perf_counter()  # waking up late is no fault of the server
            else:
                asked = due
        request = next(load.requests, None)
        if request is None or asked >= ends:
            return seconds
        await connection.ask(request)
        seconds.append(time.perf_counter() - asked)
    raise AssertionError("turns never end")
