"""A real Redis on a port of its own, which tests may kill, start again, stop and continue."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

from benchmarks.running_service import free_port

START_S = 10


class RedisServer:
    """`redis-server` in a temporary folder, without persistence."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Run it, on the same port every time, and wait until it answers."""
        given = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
        self._process = subprocess.Popen(
            ["redis-server", *given], cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        give_up = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(f"redis-server did not start on port {self.port}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End it at once, as a crash would; what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """It still accepts connections and bytes, and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It answers again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return bool(connection.recv(64))
        except OSError:
            return False
