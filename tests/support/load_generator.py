"""A cheap HTTP load generator: requests are prepared, and responses are not parsed.

It shares the machine with the server under test, so it also reports its own CPU time.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self
from urllib.parse import urlsplit

import uvloop

READ_AHEAD = 2**20  # bytes of a response that a connection buffers


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of several clients, closed-loop or at the fixed total rate `per_second`.

    The load ends early when `requests` is exhausted.
    """

    requests: Iterator[bytes]
    clients: int
    per_second: float | None = None


@dataclass(slots=True)
class LoadResult:
    """Latency of each request of a load, and the wall time from first request to last response."""

    seconds: list[float] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.seconds) / self.wall_s


@dataclass(frozen=True, slots=True)
class LoadRun:
    """Results of concurrent loads, and the share of one core that the clients used."""

    loads: list[LoadResult]
    client_cpu_share: float


class Connection:
    """A persistent HTTP connection, on which requests are written as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = False  # whether the server said that it closes the connection

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str) -> AsyncIterator[Self]:
        """Keep a connection to the server at this URL open while the block runs."""
        address = urlsplit(url)
        connection = cls(*await asyncio.open_connection(address.hostname, address.port, limit=READ_AHEAD))
        try:
            yield connection
        finally:
            connection._writer.close()
            with suppress(OSError):
                await connection._writer.wait_closed()

    @property
    def is_open(self) -> bool:
        """Whether the server has not closed it."""
        return not self._reader.at_eof()

    async def exchange(self, *pieces: bytes, pause_s: float = 0.0) -> tuple[int, bytes]:
        """Send a request in pieces; returns the status and the body of the response."""
        for piece in pieces:
            self._writer.write(piece)
            if pause_s:
                await asyncio.sleep(pause_s)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        self._last = b"\r\nconnection: close\r\n" in head
        length = int(head.partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0])
        return int(head.split()[1]), await self._reader.readexactly(length)

    async def send(self, request: bytes) -> bytes:
        """Send a request, on a new connection if the server closes this one, and return the body of the response.

        Raises:
            RuntimeError: the status was not 200; the message holds the beginning of the response.
        """
        if self._last:
            host, port = self._writer.get_extra_info("peername")[:2]
            self._writer.close()
            self._reader, self._writer = await asyncio.open_connection(host, port, limit=READ_AHEAD)
        status, body = await self.exchange(request)
        if status != 200:
            raise RuntimeError(f"{request[:60]!r} got {status}: {body[:300]!r}")
        return body


def post(path: str, body: Any) -> bytes:
    content = json.dumps(body).encode()
    return post_head(path, len(content)) + content


def post_head(path: str, length: int) -> bytes:
    """Head of a POST request with a JSON body of a length."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {length}\r\n\r\n".encode()


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


def send_all(url: str, requests: Iterable[bytes]) -> list[bytes]:

    async def send() -> list[bytes]:
        async with Connection.opened(url) as connection:
            return [await connection.send(request) for request in requests]

    return uvloop.run(send())


def run_loads(url: str, seconds: float, *loads: Load) -> LoadRun:
    """Run concurrent loads against a server; requests in flight at the end are counted."""
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    results = uvloop.run(_run_all(url, seconds, loads))
    return LoadRun(results, (time.process_time() - start_cpu_s) / (time.perf_counter() - start_s))


async def _run_all(url: str, seconds: float, loads: Iterable[Load]) -> list[LoadResult]:
    return list(await asyncio.gather(*(_run(url, seconds, load) for load in loads)))


async def _run(url: str, seconds: float, load: Load) -> LoadResult:
    async with AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(Connection.opened(url)) for _ in range(load.clients)]
        result, start = LoadResult(), time.perf_counter()
        clients = (_client(each, load, number, (start, start + seconds)) for number, each in enumerate(connections))
        for latencies in await asyncio.gather(*clients):
            result.seconds += latencies
        result.wall_s = time.perf_counter() - start
    return result


async def _client(connection: Connection, load: Load, number: int, span: tuple[float, float]) -> list[float]:
    """Send requests until the end of the span and return the latency of each.

    At a fixed rate, latency counts from the due time, so that a slow response also delays those queued behind it.
    """
    start, end = span
    seconds: list[float] = []
    for turn in count():
        sent = time.perf_counter()
        if load.per_second is not None:
            due = start + (turn * load.clients + number) / load.per_second
            if due > sent:
                await asyncio.sleep(due - sent)
                sent = time.perf_counter()  # a late wake-up is not the server's fault
            else:
                sent = due
        request = next(load.requests, None)
        if request is None or sent >= end:
            return seconds
        await connection.send(request)
        seconds.append(time.perf_counter() - sent)
    raise AssertionError("count() never ends")
