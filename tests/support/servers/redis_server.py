"""A real Redis."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.support.running_service import reserved_port
from tests.support.servers.server_process import ServerProcess


class RedisServer(ServerProcess):
    """`redis-server` without persistence, on the same port every time; when it is killed, its data is lost."""

    def __init__(self, folder: Path) -> None:
        self.port = reserved_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        super().__init__(["redis-server", *options], self._answers, folder)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return bool(connection.recv(64))
        except OSError:
            return False
