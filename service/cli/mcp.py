"""`semblance mcp`: serve a language model on standard input and output."""

from __future__ import annotations

import asyncio

from semblance_client import AsyncClient

from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Url


def mcp(url: Url) -> None:
    """Serve a language model by the Model Context Protocol.

    It reads standard input and writes standard output. The tools similarity, search and explain ask a running service.
    A key is read from SEMBLANCE_CLIENT_KEY.

    \b
    Examples:
      semblance mcp
      semblance mcp --url https://search.example.org
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance.service.mcp_tools import build_server  # noqa: PLC0415 - imports the extra mcp

    async def serve() -> None:
        async with AsyncClient(url) as client:
            await build_server(client).run_stdio_async()

    with exit_on(ValueError):
        asyncio.run(serve())
