"""A real Redis."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess


class RedisServer:
    """`redis-server` without persistence, on the same port every time."""

    def __init__(self, folder: Path) -> None:
        self.port = reserved_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: ServerProcess | None = None

    def start(self, *options: str) -> None:
        """Start the server, and wait until it answers."""
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
        self._process = ServerProcess(["redis-server", *arguments], self._answers, self._folder)
        self._process.start()

    def kill(self) -> None:
        """Kill the server, as in a crash; its data is lost."""
        if self._process is not None:
            self._process.kill()

    def pause(self) -> None:
        """Suspend the server: it accepts connections and bytes, and answers nothing."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """Resume the server after `pause`."""
        assert self._process is not None
        self._process.resume()

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return bool(connection.recv(64))
        except OSError:
            return False
