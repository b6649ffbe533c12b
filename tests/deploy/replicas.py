"""HTTP server that stands in for a replica, records its requests and fails on demand."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Replica(ThreadingHTTPServer):
    """Answers every request with `status` and its port; with None it cuts the connection, as after kill -9."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status: int | None = 200
        self.received: list[str] = []
        self.connections: set[socket.socket] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def die(self) -> None:
        """Close the port and cut open connections."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):  # closed by the other end already
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer takes 40 ms
    server: Replica

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def answer(self) -> None:
        self.server.received.append(f"{self.command} {self.path}")
        chunks = self._chunks()
        if (status := self.server.status) is None:
            next(chunks)
            self.close_connection = True
        elif "ndjson" in self.headers.get("content-type", ""):
            self._stream(status, chunks)
        elif "host" not in self.headers:
            self.send_error(400)  # as the service
        else:
            list(chunks)
            body = b"%d" % self.server.server_port
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of http.server
        pass

    def _chunks(self) -> Iterator[bytes]:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            yield self.rfile.read(int(self.headers.get("content-length", 0)))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _stream(self, status: int, chunks: Iterator[bytes]) -> None:
        """Answer while the body arrives, with the number of bytes so far.

        The answer begins after the first chunk: from then on nginx forwards no more than fits into its buffers.
        """
        size = len(next(chunks))
        self.send_response(status)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._write_chunk(b"%d\n" % size)
        for chunk in chunks:
            size += len(chunk)
            self._write_chunk(b"%d\n" % size)
        self._write_chunk(b"")

    def _write_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
