"""Middleware: request id, access log, metrics, traces and headers of every response."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.trace import TracerProvider
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.service.api.edge.context import RawHeader, RequestContext, rejection
from semblance.service.api.edge.disconnect import ClientLeft
from semblance.service.api.edge.drain import MONITORING
from semblance.service.api.errors import STATUS, internal_error
from semblance.service.errors import NotReady
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import STAGES
from semblance.service.observability.tracing import describe_request
from semblance.service.process.readiness import Draining

access_log = logging.getLogger("service.access")
log = logging.getLogger(__name__)

# a response may set its own policy; all others load nothing, appear in no frame, and are not cached
SECURITY_HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
CLIENT_LEFT = 499  # status in log and metrics of a request whose client disconnected; never sent

_SECURITY: Sequence[RawHeader] = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_STAGES = [(stage, stage.encode()) for stage in STAGES]


class RequestLog:
    """Logs and counts each request; sends an error for routes that fail without a response."""

    def __init__(self, app: ASGIApp, metrics: Metrics, draining: Draining, tracers: TracerProvider) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining
        self._tracer = tracers.get_tracer("semblance")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        context = RequestContext.enter(scope, self._tracer)
        traced = describe_request(context.id)

        async def annotated(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = self._headers(context, message.get("headers", ()), traced)
            await send(message)

        try:
            await self._serve(context, scope, receive, annotated)
        finally:
            if "client_left" in scope:
                context.status = CLIENT_LEFT
            self._account(context, scope)

    async def _serve(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; send an error if its route fails without a response."""
        try:
            await self._app(scope, receive, send)
        except (ClientLeft, ClientDisconnect):
            context.status = CLIENT_LEFT
        except asyncio.CancelledError:  # the time to finish at shutdown is over
            if not context.status:
                error = NotReady()
                await rejection(self._metrics, STATUS[NotReady], error.code, str(error))(scope, receive, send)
            raise
        except Exception:
            log.exception("unhandled error", extra={"request_id": context.id})
            if context.status:  # the response had begun: only breaking off tells the client
                raise
            await rejection(self._metrics, 500, "internal_error", internal_error(context.id))(scope, receive, send)

    def _account(self, context: RequestContext, scope: Scope) -> None:
        seconds = time.perf_counter() - context.began
        route = getattr(scope.get("route"), "path", "unmatched")  # the template, so that ids create no series
        self._metrics.add_request(route, context.method, context.status, seconds, context.stages.seconds)
        if context.caller:
            self._metrics.add_caller(context.caller, context.status)
        probed = context.path in MONITORING and context.status < 400  # by a machine, every few seconds
        caller = {"caller": context.caller} if context.caller else {}
        access_log.log(
            logging.DEBUG if probed else logging.INFO,
            "%s %s %s",
            context.method,
            context.path,
            context.status,
            extra={"request_id": context.id, "milliseconds": round(1000 * seconds, 1)} | caller,
        )

    def _headers(
        self, context: RequestContext, sent: Iterable[RawHeader], traced: Sequence[RawHeader]
    ) -> list[RawHeader]:
        """Headers of a response with ours; security headers that it sets take precedence."""
        ours = [(b"x-request-id", context.id.encode()), (b"server-timing", _server_timing(context)), *traced]
        if self._draining.begun:
            ours.append((b"connection", b"close"))
        replaced = {name for name, _ in ours}
        headers = [header for header in sent if header[0] not in replaced]
        present = {name for name, _ in headers}
        return [*headers, *ours, *(header for header in _SECURITY if header[0] not in present)]


def _server_timing(context: RequestContext) -> bytes:
    total, spent = time.perf_counter() - context.began, context.stages.seconds
    stages = [b"%s;dur=%.2f" % (name, 1000 * spent[stage] if stage in spent else 0.0) for stage, name in _STAGES]
    return b", ".join([*stages, b"total;dur=%.2f" % (1000 * total)])
