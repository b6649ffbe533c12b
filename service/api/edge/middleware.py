"""ASGI middleware: request id, timings, access log, security headers, admission, CORS."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from opentelemetry.trace import Tracer, TracerProvider
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.service.api.edge.hosts import AllowedHosts
from semblance.service.api.edge.keys import Guard, is_documents
from semblance.service.api.edge.origins import AllowedOrigins, is_from_browser
from semblance.service.api.edge.request_body import BodyLimits, ClientLeft, RequestBody, while_connected
from semblance.service.api.errors import STATUS, internal_error, problem
from semblance.service.callers import UNLIMITED, set_caller
from semblance.service.errors import Forbidden, NotReady, Unauthorized
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import STAGES, start_stages
from semblance.service.observability.tracing import NOT_TRACED, describe_request
from semblance.service.process.readiness import Draining, Readiness

RawHeader: TypeAlias = tuple[bytes, bytes]

access_log = logging.getLogger("service.access")
log = logging.getLogger(__name__)

# an answer may set its own policy; all others load nothing, appear in no frame, and are not cached
SECURITY_HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
CLIENT_LEFT = 499  # status in log and metrics of a request whose client disconnected; never sent

_EXPOSED = ("retry-after", "server-timing", "traceparent", "www-authenticate", "x-request-id")
_MONITORING = frozenset({"/live", "/ready", "/metrics"})  # answered by an unready process too, and not traced
_IDENTITY = "identity"
_WRONG_HOST = "the service may not be called under this host; list it in SEMBLANCE_ALLOWED_HOSTS to allow it"
_WRONG_ORIGIN = (
    "pages of this origin may not call the service from a browser; list it in SEMBLANCE_CORS_ORIGINS to allow it"
)
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_JSON = re.compile(r"application/([\w.-]+\+)?json\s*(;.*)?", re.IGNORECASE)
_NDJSON = re.compile(r"application/(x-)?ndjson\s*(;.*)?", re.IGNORECASE)
_SECURITY: Sequence[RawHeader] = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_STAGES = [(stage, stage.encode()) for stage in STAGES]


@dataclass(frozen=True, slots=True)
class EdgePolicy:
    """What decides on a request before its route does.

    Args:
        guard: who may call what.
        hosts: under which names and addresses.
        draining: set during shutdown, when every request is refused.
        readiness: whether this process can serve at all.
        origins: whose pages may call from a browser, beside those of the service itself.
    """

    guard: Guard = field(default_factory=Guard)
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    draining: Draining = field(default_factory=Draining)
    readiness: Readiness = field(default_factory=Readiness)
    origins: AllowedOrigins = field(default_factory=AllowedOrigins)

    def unavailable(self, path: str) -> str | None:
        """Why requests to `path` are not served now; None if they are."""
        if self.draining.begun:
            return str(NotReady())
        if path not in _MONITORING and not self.readiness.is_ready():
            return "the service cannot answer at the moment: GET /ready says why"
        return None

    def cors(self, app: ASGIApp) -> ASGIApp:
        """`app`, opened to the pages of the allowed origins, if any."""
        if not self.origins.listed:
            return app
        return CORSMiddleware(
            app,
            allow_origins=tuple(self.origins.listed),
            allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("*",),  # a preflight is answered with those it asks for: many clients send some of their own
            expose_headers=_EXPOSED,
        )


class EdgeMiddleware:
    """Outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        limits: BodyLimits,
        policy: EdgePolicy | None = None,
        tracers: TracerProvider = NOT_TRACED,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._limits = limits
        self._policy = policy or EdgePolicy()
        self._tracer = tracers.get_tracer("semblance")
        self._entrance = self._policy.cors(self._admit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = scope["headers_by_name"] = _by_name(scope["headers"])
        request = _Request(scope, headers.get("x-request-id", ""), self._tracer)
        if _has_body(headers) and "content-type" not in headers and not is_from_browser(headers):  # as sent by scripts
            scope["headers"] = [*scope["headers"], (b"content-type", b"application/json")]
            headers = scope["headers_by_name"] = _by_name(scope["headers"])
        scope["request_id"] = request.id
        # the route uses this same decision: if it judged again, an unlimited body might be read as a whole
        scope["streamed"] = _is_stream(scope["method"], scope["path"], headers)
        body = RequestBody(receive, self._limits, streamed=scope["streamed"], announced=_has_body(headers))
        try:
            await self._serve(scope, body, request, request.annotated(send, self._policy.draining))
        finally:
            if body.aborted or "client_left" in scope:
                request.status = CLIENT_LEFT
            self._account(request)

    async def _serve(self, scope: Scope, body: RequestBody, request: _Request, send: Send) -> None:
        """Run the routes; answer for them if they fail without an answer."""
        try:
            await while_connected(self._entrance(scope, body.receive, send), body)
        except (ClientLeft, ClientDisconnect):
            request.status = CLIENT_LEFT
        except asyncio.CancelledError:  # the time to finish at shutdown is over
            if not request.status:
                await _not_ready(str(NotReady()))(scope, body.receive, send)
            raise
        except Exception:
            log.exception("unhandled error", extra={"request_id": request.id})
            if request.status:  # the answer had begun: only breaking off tells the client
                raise
            self._metrics.errors.labels("internal_error").inc()
            await problem(500, "internal_error", internal_error(request.id))(scope, body.receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it by its headers before any of its body is read."""
        app = self._not_admitted(scope) or self._bad_body(scope) or self._app
        set_caller(scope.get("caller") or _address(scope), scope.get("permission", UNLIMITED))
        await app(scope, receive, send)

    def _not_admitted(self, scope: Scope) -> Response | None:
        """The refusal of a request from elsewhere, during shutdown, or without a sufficient key."""
        if elsewhere := self._from_elsewhere(scope):
            return elsewhere
        if reason := self._policy.unavailable(scope["path"]):
            self._metrics.errors.labels("not_ready").inc()
            return _not_ready(reason)
        if not self._policy.guard.ring.keys:  # anyone may call
            return None
        authorization = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
        try:
            if key := self._policy.guard.admit(scope["method"], scope["path"], authorization):
                scope["caller"], scope["permission"] = key.name, key.permission
        except Unauthorized as error:
            answer = self._refusal(STATUS[Unauthorized], error.code, str(error))
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        except Forbidden as error:
            scope["caller"] = error.caller  # for the log
            return self._refusal(STATUS[Forbidden], error.code, str(error))
        return None

    def _from_elsewhere(self, scope: Scope) -> Response | None:
        """The refusal of a request to another host, or from a page of another origin."""
        headers = scope["headers_by_name"]
        host = headers.get("host")  # HTTP/1.0 may do without, but browsers always send it
        if host is not None and not self._policy.hosts.allow(host):
            return self._refusal(421, "host_not_allowed", _WRONG_HOST)
        if not self._policy.origins.allow(scope["method"], headers):
            return self._refusal(403, "origin_not_allowed", _WRONG_ORIGIN)
        return None

    def _bad_body(self, scope: Scope) -> Response | None:
        """The refusal of a request whose headers announce a body that cannot be read."""
        headers = scope["headers_by_name"]
        if scope["method"] not in ("POST", "PUT", "PATCH") or not _has_body(headers):  # no other route reads a body
            return None
        encoding = headers.get("content-encoding", "") or _IDENTITY
        if encoding.lower() != _IDENTITY:
            answer = self._refusal(
                415, "unsupported_content_encoding", "send the body uncompressed, without content-encoding"
            )
            answer.headers["accept-encoding"] = _IDENTITY
            return answer
        if scope["streamed"]:
            return None
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limits.max_bytes:
            return self._refusal(413, "body_too_large", self._limits.too_large())
        if not _JSON.fullmatch(headers.get("content-type", "")):
            return self._refusal(415, "unsupported_media_type", "send the body as content-type: application/json")
        return None

    def _refusal(self, status: int, code: str, detail: str) -> Response:
        self._metrics.errors.labels(code).inc()
        return problem(status, code, detail)

    def _account(self, request: _Request) -> None:
        route, seconds = request.route, time.perf_counter() - request.began
        self._metrics.add_request(route, request.method, request.status, seconds, request.stages.seconds)
        probed = request.path in _MONITORING and request.status < 400  # by a machine, every few seconds
        access_log.log(
            logging.DEBUG if probed else logging.INFO,
            "%s %s %s",
            request.method,
            request.path,
            request.status,
            extra={"request_id": request.id, "milliseconds": round(1000 * seconds, 1)} | request.caller,
        )


def is_monitoring(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request with this ASGI scope asks for the state of the process."""
    return scope.get("path") in _MONITORING


def _by_name(headers: Sequence[RawHeader]) -> Mapping[str, str]:
    """Headers by name; of repeated headers, the first."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(headers)}


def _address(scope: Scope) -> str:
    """The address of the client; empty on a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") not in ("", "0") or "transfer-encoding" in headers


def _is_stream(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request sends documents as NDJSON: such a body may have any length."""
    declared = _NDJSON.fullmatch(headers.get("content-type", ""))
    return method == "POST" and declared is not None and is_documents(path)


def _not_ready(reason: str) -> Response:
    error = NotReady(reason)
    return problem(STATUS[NotReady], error.code, str(error))


class _Request:
    """State of one request."""

    def __init__(self, scope: Scope, proposed_id: str, tracer: Tracer) -> None:
        self._scope = scope
        self.id = proposed_id if _REQUEST_ID.fullmatch(proposed_id) else f"{random.getrandbits(128):032x}"  # no secret
        self.method: str = scope["method"]
        self.path: str = scope["path"]  # never the query string: it may hold texts
        self.status = 0
        self.began = time.perf_counter()
        self.stages = start_stages(tracer)
        self._trace_headers = describe_request(self.id)

    @property
    def route(self) -> str:
        """The route's template, so that ids in paths create no series."""
        return getattr(self._scope.get("route"), "path", "unmatched")

    @property
    def caller(self) -> dict[str, str]:
        """The name of its key, for the log."""
        name = self._scope.get("caller")
        return {"caller": name} if name else {}

    def annotated(self, send: Send, draining: Draining) -> Send:
        """`send`, which adds the headers of this middleware to the answer."""

        async def annotated(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message["headers"] = self._headers(message.get("headers", ()), closing=draining.begun)
            await send(message)

        return annotated

    def _headers(self, answer: Iterable[RawHeader], *, closing: bool) -> list[RawHeader]:
        """Headers of an answer with ours; security headers that it sets take precedence."""
        ours = [(b"x-request-id", self.id.encode()), (b"server-timing", self._server_timing()), *self._trace_headers]
        if closing:
            ours.append((b"connection", b"close"))
        replaced = {name for name, _ in ours}
        headers = [header for header in answer if header[0] not in replaced]
        present = {name for name, _ in headers}
        return [*headers, *ours, *(header for header in _SECURITY if header[0] not in present)]

    def _server_timing(self) -> bytes:
        total, spent = time.perf_counter() - self.began, self.stages.seconds
        stages = [b"%s;dur=%.2f" % (name, 1000 * spent[stage] if stage in spent else 0.0) for stage, name in _STAGES]
        return b", ".join([*stages, b"total;dur=%.2f" % (1000 * total)])
