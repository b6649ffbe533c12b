"""A TCP proxy that delays, damages and repeats the replies of a real server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Faults:
    """Probability of each fault for a chunk of bytes from the server, and its longest delay.

    Chunks wait while `passing` is not set; `holding` says that one does.
    """

    delay_s: float = 0.0
    corrupt: float = 0.0  # one byte is changed
    repeat: float = 0.0  # the chunk is sent again later, and looks like the reply to the next command
    close: float = 0.0  # the connection ends in the middle of the chunk
    passing: asyncio.Event = field(default_factory=asyncio.Event)
    holding: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.passing.set()


@asynccontextmanager
async def faulty_proxy(server_port: int, faults: Faults) -> AsyncIterator[int]:
    """Run a proxy for the time of the block; yields its port."""
    rng = random.Random(1)
    serving: dict[asyncio.StreamWriter, asyncio.Event] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving[writer] = asyncio.Event()
        upstream, to_server = await asyncio.open_connection("127.0.0.1", server_port)
        there = asyncio.create_task(_forward(reader, to_server))
        back = asyncio.create_task(_mangle(upstream, writer, faults, rng))
        await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        for side, end in ((there, to_server), (back, writer)):
            side.cancel()
            end.close()
        await asyncio.gather(there, back, return_exceptions=True)
        serving.pop(writer).set()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield int(proxy.sockets[0].getsockname()[1])
    finally:
        proxy.close()
        for writer, ended in list(serving.items()):
            writer.close()
            await ended.wait()


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()


async def _mangle(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, faults: Faults, rng: random.Random
) -> None:
    with suppress(OSError):
        while chunk := await reader.read(65536):
            if not faults.passing.is_set():
                faults.holding.set()
                await faults.passing.wait()
            await asyncio.sleep(rng.random() * faults.delay_s)  # the fault itself
            if rng.random() < faults.close:
                writer.write(chunk[: rng.randrange(len(chunk))])
                return
            if rng.random() < faults.corrupt:
                place = rng.randrange(len(chunk))
                chunk = chunk[:place] + bytes([chunk[place] ^ rng.randint(1, 255)]) + chunk[place + 1 :]
            writer.write(chunk)
            await writer.drain()
            if rng.random() < faults.repeat:
                asyncio.get_running_loop().call_later(rng.random() * 0.005, writer.write, chunk)
