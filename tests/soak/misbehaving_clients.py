"""Slow, large and numerous requests that one client can send to a service."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Self, TypeAlias
from urllib.parse import urlsplit

MIB = 1024 * 1024
LARGEST = 8 * MIB  # the default limit of a body
TINY_CONNECTIONS = 50
PAIR = json.dumps({"pairs": [{"a": "A cat.", "b": "A dog."}]}).encode()


@dataclass(slots=True)
class RawConnection:
    """A connection on which requests are written as bytes; costs next to nothing."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[Self]:
        """Keep a connection open while the block runs."""
        address = urlsplit(url)
        connection = cls(*await asyncio.open_connection(address.hostname, address.port))
        try:
            yield connection
        finally:
            connection.writer.close()
            with suppress(OSError):
                await connection.writer.wait_closed()

    async def send(self, *pieces: bytes, pause_s: float = 0.0) -> int:
        """Send a request in pieces and return the status of the response."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause_s)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        await self.reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
        return int(head.split()[1])


Action: TypeAlias = Callable[[str], Awaitable[Counter[int]]]  # URL of the service -> statuses of its responses


@dataclass(frozen=True, slots=True)
class Misbehavior:
    """An action against a service, and the statuses with which it may respond."""

    name: str
    expected: Sequence[int]
    act: Action


async def slow_body(url: str) -> Counter[int]:
    """Send a body byte by byte, within the time limit."""
    async with RawConnection.open(url) as connection:
        pieces = (bytes([each]) for each in PAIR)
        return Counter([await connection.send(post_head("/similarity", len(PAIR)), *pieces, pause_s=0.1)])


async def incomplete_body(url: str) -> Counter[int]:
    """Send the first bytes of a body only."""
    async with RawConnection.open(url) as connection:
        return Counter([await connection.send(post_head("/similarity", len(PAIR)), PAIR[:10])])


def send_body(body: bytes, path: str = "/similarity") -> Action:
    """Send one request with this body."""

    async def act(url: str) -> Counter[int]:
        async with RawConnection.open(url) as connection:
            return Counter([await connection.send(post_head(path, len(body)), body)])

    return act


def tiny_requests(count: int) -> Action:
    """Send many small requests over persistent connections."""
    kinds = (b"GET /live HTTP/1.1\r\nhost: localhost\r\n\r\n", post_head("/similarity", len(PAIR)) + PAIR)

    async def act(url: str) -> Counter[int]:
        async def client(number: int) -> list[int]:
            async with RawConnection.open(url) as connection:
                return [await connection.send(kinds[(i + number) % 2]) for i in range(count // TINY_CONNECTIONS)]

        results = await asyncio.gather(*(client(number) for number in range(TINY_CONNECTIONS)))
        return Counter(status for statuses in results for status in statuses)

    return act


def post_head(path: str, length: int) -> bytes:
    """Head of a POST request with a JSON body."""
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def misbehaviors(tiny: int, largest: int) -> list[Misbehavior]:
    """All misbehaviors, with `tiny` small requests and bodies of up to `largest` bytes."""
    size = f"{largest / MIB:g} MB"
    text = "all work and no play " * 4700  # just below the limit of a text
    texts = [f"{i} {text}" for i in range(largest // len(text) - 1)]
    large = json.dumps({"model": "minilm-words", "input": texts, "truncate": "END"}).encode()
    numbers = b'{"pairs":[' + b"1," * (largest // 2 - 10) + b"1]}"
    lists = b'{"pairs":[' + b"[]," * (largest // 3 - 10) + b"1]}"
    return [
        Misbehavior("a body trickles in", (200,), slow_body),
        Misbehavior("a body stops half-way", (408,), incomplete_body),
        Misbehavior("a body of 10 MB", (413,), send_body(b" " * 10_000_000)),
        Misbehavior(f"{size} of text", (200,), send_body(large, "/v1/embeddings")),
        Misbehavior(f"{size} of [1,1,1,...", (413,), send_body(numbers)),
        Misbehavior(f"{size} of [],[],[],...", (413,), send_body(lists)),
        Misbehavior(f"{size} of [[[[...", (413,), send_body(b"[" * largest)),
        Misbehavior(f"{tiny:,} tiny requests", (200,), tiny_requests(tiny)),
    ]
