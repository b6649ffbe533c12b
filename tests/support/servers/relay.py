"""A TCP relay in front of a server, which can lose what the server answers."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from ssl import SSLContext

from tests.support.running_service import reserved_port

CHUNK = 1 << 16
START_S = 300


class Relay:
    """Passes bytes between clients and a server on loopback, in a thread of its own.

    Args:
        port: port of the server.
        tls: for connections of clients; those to the server are never encrypted.

    Attributes:
        port: port for clients.
    """

    def __init__(self, port: int, tls: SSLContext | None = None) -> None:
        self.port = reserved_port()
        self._server_port = port
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None  # of the thread, while it listens
        self._stopped = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._loses_answers = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._listen()), daemon=True)
        self._listens = threading.Event()

    def start(self) -> None:
        self._thread.start()
        assert self._listens.wait(START_S)

    def stop(self) -> None:
        """Close all connections, and listen no more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    def lose_answers(self) -> None:
        """Keep connections, and pass on only what clients send: requests are carried out, and never answered."""
        self._loses_answers = True

    def recover(self) -> None:
        """Pass on everything again, on new connections: answers are missing in the middle of the others."""
        self._loses_answers = False
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._close_all)

    async def _listen(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self._connect, "127.0.0.1", self.port, ssl=self._tls):
            self._listens.set()
            await self._stopped.wait()
            self._close_all()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, requests = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:  # the server is away: its clients see that at once
            writer.close()
            return
        self._writers |= {writer, requests}
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, requests), self._pass_on(answers, writer, are_answers=True))
        self._writers -= {writer, requests}

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, are_answers: bool = False
    ) -> None:
        try:
            while data := await reader.read(CHUNK):
                if not (are_answers and self._loses_answers):
                    writer.write(data)
                    await writer.drain()
        finally:
            writer.close()

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
