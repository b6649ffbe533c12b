"""A real HTTP server in the place of a replica, which tells what reached it and can fail in every way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Replica(ThreadingHTTPServer):
    """Answers every request with `status` and its own port; with status None it dies on it, as after kill -9."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status: int | None = 200
        self.received: list[str] = []
        self.connections: set[socket.socket] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def die(self) -> None:
        """Nobody listens on the port any more, and open connections are cut."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):  # its other end was faster
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Replica

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def answer(self) -> None:
        self.server.received.append(f"{self.command} {self.path}")
        pieces = self._pieces()
        if (status := self.server.status) is None:
            next(pieces)
            self.close_connection = True
        elif "ndjson" in self.headers.get("content-type", ""):
            self._stream(status, pieces)
        else:
            list(pieces)
            body = b"%d" % self.server.server_port
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - their names are http.server's

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Nothing."""

    def _pieces(self) -> Iterator[bytes]:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            yield self.rfile.read(int(self.headers.get("content-length", 0)))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _stream(self, status: int, pieces: Iterator[bytes]) -> None:
        """Answer as the body comes, with the number of bytes so far.

        The answer begins after the first piece: once it has, nginx passes on no more than fits into buffers.
        """
        size = len(next(pieces))
        self.send_response(status)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._chunk(b"%d\n" % size)
        for piece in pieces:
            size += len(piece)
            self._chunk(b"%d\n" % size)
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
