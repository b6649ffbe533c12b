"""A real Redis."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.support.running_service import free_port
from tests.support.servers.server_process import ServerProcess


class RedisServer:
    """`redis-server` in a folder of its own, without persistence, on the same port every time."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: ServerProcess | None = None

    def start(self, *options: str) -> None:
        """Run it, and wait until it answers."""
        given = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
        self._process = ServerProcess(["redis-server", *given], self._answers, self._folder)
        self._process.start()

    def kill(self) -> None:
        """End it at once, as a crash would; what it held is gone."""
        if self._process is not None:
            self._process.kill()

    def pause(self) -> None:
        """It still accepts connections and bytes, and answers nothing."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """It answers again."""
        assert self._process is not None
        self._process.resume()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return bool(connection.recv(64))
        except OSError:
            return False
