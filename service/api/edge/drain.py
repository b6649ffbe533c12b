"""Middleware: reject requests during shutdown, and while the process cannot serve."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from semblance.service.api.edge.context import rejection
from semblance.service.api.errors import STATUS
from semblance.service.errors import NotReady
from semblance.service.observability.metrics import Metrics
from semblance.service.process.readiness import Draining, Readiness

READINESS = frozenset({"/ready", "/health"})  # by which load balancers choose
MONITORING = frozenset({"/live", "/ready", "/metrics"})  # served by an unready process too, and not traced


class Drain:
    """Rejects requests that this process cannot serve now."""

    def __init__(self, app: ASGIApp, metrics: Metrics, draining: Draining, readiness: Readiness) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining
        self._readiness = readiness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        app = self._app
        if reason := self._unavailable(scope["path"]):
            error = NotReady(reason)
            app = rejection(self._metrics, STATUS[NotReady], error.code, str(error))
        await app(scope, receive, send)

    def _unavailable(self, path: str) -> str | None:
        """Why requests to `path` are not served now; None if they are."""
        if self._draining.refuses or (self._draining.begun and path in READINESS):
            return str(NotReady())
        if path not in MONITORING and not self._readiness.is_ready():
            return "the service cannot answer at the moment: GET /ready says why"
        return None


def is_monitoring(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request with this ASGI scope asks for the state of the process."""
    return scope.get("path") in MONITORING
