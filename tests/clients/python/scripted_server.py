"""An HTTP server that answers requests by a list of answers, for faults that a real service cannot be asked for."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Reply:
    """An answer of the server; with `cut_after`, the connection is reset after that number of bytes of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None


def refusal(status: int, code: str, retry_after: str | None = None) -> Reply:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return Reply(status, json.dumps({"code": code, "detail": f"{code}!", "status": status}).encode(), headers)


def lines(*events: Mapping[str, Any]) -> Reply:
    return Reply(body=b"".join(json.dumps(event).encode() + b"\n" for event in events))


def stored(through_line: int, upserted: int) -> dict[str, Any]:
    batch = {"through_line": through_line, "upserted": upserted, "version": "a:1:b"}
    return {**batch, "truncated": [], "errors": [], "warnings": []}


@dataclass(frozen=True)
class Arrival:
    """A request as it arrived."""

    method: str
    path: str
    body: bytes


class ScriptedServer:
    """Answers the n-th request by the n-th of `replies`, all further ones by the last.

    Attributes:
        arrivals: the requests so far.
    """

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.arrivals: list[Arrival] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.arrivals.append(Arrival(self.command, self.path, body))
                self._send(outer.replies[min(len(outer.arrivals), len(outer.replies)) - 1])

            do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - names of http.server

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.status)
                for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body[: reply.cut_after])
                self.wfile.flush()
                if reply.cut_after is not None:
                    self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
