"""`semblance serve` with two minutes, not one second, to cut off requests: what a slow machine may need."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from semblance.service.cli.main import app
from semblance.service.process.server import Server


def patient(*arguments: Any) -> Server:
    server = Server(*arguments)
    server._reserve_s = 120
    return server


if __name__ == "__main__":
    with patch("semblance.service.cli.toolbox.http_service.Server", patient):
        app()
