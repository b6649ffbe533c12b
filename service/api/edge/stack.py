"""The middlewares around all routes, from the outermost one."""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry.trace import TracerProvider
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from semblance.service.api.edge.disconnect import Disconnect
from semblance.service.api.edge.drain import Drain
from semblance.service.api.edge.head import HeadAsGet
from semblance.service.api.edge.keys import Guard, KeyCheck
from semblance.service.api.edge.origins import AllowedHosts, AllowedOrigins, OriginCheck
from semblance.service.api.edge.request_body import BodyCheck, BodyLimits
from semblance.service.api.edge.request_log import RequestLog
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.tracing import NOT_TRACED
from semblance.service.process.readiness import Draining, Readiness

_EXPOSED = ("retry-after", "server-timing", "traceparent", "www-authenticate", "x-request-id")


@dataclass(frozen=True, slots=True)
class EdgePolicy:
    """Which requests reach their routes.

    Args:
        guard: who may call what.
        hosts: under which names and addresses.
        draining: set during shutdown, from when every request is rejected.
        readiness: whether this process can serve at all.
        origins: whose pages may call from a browser, beside those of the service itself.
    """

    guard: Guard = field(default_factory=Guard)
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    draining: Draining = field(default_factory=Draining)
    readiness: Readiness = field(default_factory=Readiness)
    origins: AllowedOrigins = field(default_factory=AllowedOrigins)


class Edge:
    """All middlewares, as one."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        limits: BodyLimits,
        policy: EdgePolicy | None = None,
        tracers: TracerProvider = NOT_TRACED,
    ) -> None:
        policy = policy or EdgePolicy()
        checked: ASGIApp = BodyCheck(HeadAsGet(app), metrics, limits)
        checked = KeyCheck(checked, metrics, policy.guard)
        checked = Drain(checked, metrics, policy.draining, policy.readiness)
        checked = OriginCheck(checked, metrics, policy.hosts, policy.origins)
        if policy.origins.listed:
            checked = _cors(checked, policy.origins)
        self._app = app
        self._entrance = RequestLog(Disconnect(checked, limits), metrics, policy.draining, tracers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; events of the lifespan pass by."""
        await (self._entrance if scope["type"] == "http" else self._app)(scope, receive, send)


def _cors(app: ASGIApp, origins: AllowedOrigins) -> ASGIApp:
    """`app`, opened to the pages of the listed origins."""
    return CORSMiddleware(
        app,
        allow_origins=tuple(origins.listed),
        allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
        allow_headers=("*",),  # a preflight is answered with those it asks for: many clients send some of their own
        expose_headers=_EXPOSED,
    )
