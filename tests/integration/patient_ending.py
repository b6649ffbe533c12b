"""`semblance serve` with two minutes, not one second, to cut off requests: what a slow machine may need."""

from __future__ import annotations

from typing import Any

from semblance.service.cli import serve
from semblance.service.cli.main import app
from semblance.service.process.server import Server


def patient(*arguments: Any) -> Server:
    server = Server(*arguments)
    server._reserve_s = server._drain_s - 1
    return server


if __name__ == "__main__":
    serve.Server = patient  # type: ignore[assignment, misc]
    app()
