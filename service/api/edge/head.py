"""Middleware: serve HEAD as GET."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class HeadAsGet:
    """Passes HEAD on as GET; the server sends the head of the response alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        served = {**scope, "method": "GET"}  # a copy, as the server looks at the method when it sends the body
        try:
            await self._app(served, receive, send)
        finally:
            scope["route"] = served.get("route")  # for the metrics
