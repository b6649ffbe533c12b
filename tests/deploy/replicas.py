"""A real HTTP server in the place of a replica, which tells what reached it and can fail in every way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Replica:
    """Answers every request with `status` and its own port; with status None it dies on it, as after kill -9."""

    def __init__(self) -> None:
        self.status: int | None = 200
        self.received: list[str] = []
        self._connections: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def die(self) -> None:
        """Nobody listens on the port any more, and open connections are cut."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # its other end was faster

    def _handler(replica: Replica) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                replica._connections.add(self.connection)

            def finish(self) -> None:
                replica._connections.discard(self.connection)
                super().finish()

            def answer(self) -> None:
                replica.received.append(f"{self.command} {self.path}")
                if "ndjson" in self.headers.get("content-type", ""):
                    self._stream()
                elif replica.status is None:
                    self._body()
                    self.close_connection = True
                else:
                    self._body()
                    self._send(replica.status, b"%d" % replica.port)

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - their names are http.server's

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
                del format, args

            def _body(self) -> int:
                return sum(map(len, self._pieces()))

            def _pieces(self) -> Iterator[bytes]:
                if "chunked" not in self.headers.get("transfer-encoding", ""):
                    yield self.rfile.read(int(self.headers.get("content-length", 0)))
                    return
                while size := int(self.rfile.readline(), 16):
                    yield self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self) -> None:
                """Answers as the body comes, with the number of bytes so far."""
                if replica.status is None:
                    next(self._pieces())
                    self.close_connection = True
                    return
                self.send_response(replica.status)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                size = 0
                for piece in self._pieces():
                    size += len(piece)
                    self._chunk(b"%d\n" % size)
                self._chunk(b"")

            def _chunk(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        return Handler
