"""What one client can do to a service by being slow, large or many."""

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
LARGEST = 8 * MIB  # the limit of a body as it is set by default
TINY_CONNECTIONS = 50
PAIR = json.dumps({"pairs": [{"a": "A cat.", "b": "A dog."}]}).encode()


@dataclass(slots=True)
class Wire:
    """One connection, spoken to in bytes: a client that costs next to nothing."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    @asynccontextmanager
    async def dialled(cls, url: str) -> AsyncIterator[Self]:
        """It is open as long as the block runs."""
        address = urlsplit(url)
        wire = cls(*await asyncio.open_connection(address.hostname, address.port))
        try:
            yield wire
        finally:
            wire.writer.close()
            with suppress(OSError):
                await wire.writer.wait_closed()

    async def ask(self, *pieces: bytes, pause_s: float = 0.0) -> int:
        """Send a request, in pieces, and return the status of the answer."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause_s)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        await self.reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
        return int(head.split()[1])

    async def closed(self) -> bool:
        """Whether the other side hung up."""
        try:
            async with asyncio.timeout(0.001):
                return await self.reader.read(1) == b""
        except TimeoutError:
            return False


Act: TypeAlias = Callable[[str], Awaitable[Counter[int]]]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is done to the service at an address, and the statuses that its answers may have."""

    name: str
    expected: Sequence[int]
    act: Act


async def slow_body(url: str) -> Counter[int]:
    """One that trickles in, a byte at a time, but in time."""
    async with Wire.dialled(url) as wire:
        pieces = (bytes([each]) for each in PAIR)
        return Counter([await wire.ask(posted("/similarity", len(PAIR)), *pieces, pause_s=0.1)])


async def stopping_body(url: str) -> Counter[int]:
    """One that stops half-way."""
    async with Wire.dialled(url) as wire:
        return Counter([await wire.ask(posted("/similarity", len(PAIR)), PAIR[:10])])


def body_of(body: bytes, path: str = "/similarity") -> Act:
    """One request with that body."""

    async def send(url: str) -> Counter[int]:
        async with Wire.dialled(url) as wire:
            return Counter([await wire.ask(posted(path, len(body)), body)])

    return send


def tiny_requests(count: int) -> Act:
    """So many, over connections that are kept."""
    kinds = (b"GET /live HTTP/1.1\r\nhost: here\r\n\r\n", posted("/similarity", len(PAIR)) + PAIR)

    async def send(url: str) -> Counter[int]:
        async def client(number: int) -> list[int]:
            async with Wire.dialled(url) as wire:
                return [await wire.ask(kinds[(i + number) % 2]) for i in range(count // TINY_CONNECTIONS)]

        answered = await asyncio.gather(*(client(number) for number in range(TINY_CONNECTIONS)))
        return Counter(status for statuses in answered for status in statuses)

    return send


def posted(path: str, length: int) -> bytes:
    """The head of a request with a JSON body."""
    lines = [f"POST {path} HTTP/1.1", "host: here", "content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


def troubles(tiny: int, largest: int) -> list[Trouble]:
    """All of them: so many tiny requests, and bodies of the largest size in bytes that the service takes."""
    size = f"{largest / MIB:g} MB"
    text = "all work and no play " * 4700  # just short enough to be taken
    texts = [f"{i} {text}" for i in range(largest // len(text) - 1)]
    large = json.dumps({"model": "minilm-clrcmd", "input": texts, "truncate": "END"}).encode()
    numbers = b'{"pairs":[' + b"1," * (largest // 2 - 10) + b"1]}"
    lists = b'{"pairs":[' + b"[]," * (largest // 3 - 10) + b"1]}"
    return [
        Trouble("nothing but idle connections", (), quiet),
        Trouble("a body trickles in", (200,), slow_body),
        Trouble("a body stops half-way", (408,), stopping_body),
        Trouble("a body of 10 MB", (413,), body_of(b" " * 10_000_000)),
        Trouble(f"{size} of text", (200,), body_of(large, "/v1/embeddings")),
        Trouble(f"{size} of [1,1,1,...", (413,), body_of(numbers)),
        Trouble(f"{size} of [],[],[],...", (413,), body_of(lists)),
        Trouble(f"{size} of [[[[...", (413,), body_of(b"[" * largest)),
        Trouble(f"{tiny:,} tiny requests", (200,), tiny_requests(tiny)),
    ]


async def quiet(url: str) -> Counter[int]:
    """Nothing."""
    del url
    await asyncio.sleep(3)
    return Counter()
