"""What every request passes through: limits on its body, an id, timings, the access log, and the last catch."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.service.api.edge.checks import SECURITY_HEADERS, Edge
from semblance.service.api.edge.disconnect import ClientLeft, while_connected
from semblance.service.api.edge.request_body import BodyLimits, RequestBody
from semblance.service.api.errors import STATUS, problem
from semblance.service.api.ndjson import is_ndjson
from semblance.service.errors import Forbidden, NotReady, Unauthorized
from semblance.service.observability import timings
from semblance.service.observability.metrics import Metrics
from semblance.service.process.shutdown import Draining

RawHeader: TypeAlias = tuple[bytes, bytes]

access_log = logging.getLogger("service.access")
log = logging.getLogger(__name__)

CLIENT_LEFT = 499  # what the log and the metrics say of a client who did not wait; nobody receives it
_REQUEST_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_JSON = re.compile(r"application/([\w.-]+\+)?json\s*(;.*)?", re.IGNORECASE)
_SECURITY: Sequence[RawHeader] = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
_STAGES = [(stage, stage.encode()) for stage in timings.STAGES]


class Envelope:
    """ASGI middleware around the routes."""

    def __init__(self, app: ASGIApp, metrics: Metrics, limits: BodyLimits, edge: Edge | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._limits = limits
        self._edge = edge or Edge()
        self._entrance = self._edge.cors(self._admit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = scope["headers_by_name"] = _by_name(scope["headers"])
        request = _Request(scope, headers.get("x-request-id", ""))
        # the route goes by this too: were it to judge anew, a body might be held to no limit and yet be read as a whole
        scope["streamed"] = is_ndjson(scope["method"], scope["path"], headers)
        body = RequestBody(receive, self._limits, streamed=scope["streamed"], announced=_has_body(headers))
        try:
            await self._serve(scope, body, request, request.marked(send, self._edge.draining))
        finally:
            if body.broken_off:
                request.status = CLIENT_LEFT
            self._account(request)

    async def _serve(self, scope: Scope, body: RequestBody, request: _Request, send: Send) -> None:
        """Have the routes answer; where they fail without an answer, answer for them."""
        try:
            await while_connected(self._entrance(scope, body.receive, send), body)
        except (ClientLeft, ClientDisconnect):
            request.status = CLIENT_LEFT
        except asyncio.CancelledError:  # the time to finish at shutdown is over
            if not request.status:
                await _not_ready(str(NotReady()))(scope, body.receive, send)
            raise
        except Exception:
            log.exception("unknown failure", extra={"request_id": request.id})
            if request.status:  # the answer had begun: only breaking off tells the client
                raise
            self._metrics.errors.labels("internal_error").inc()
            detail = f"something failed here; the log knows it as request {request.id}"
            await problem(500, "internal_error", detail)(scope, body.receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the routes answer, if the headers already tell that they may; none of the body is read for that."""
        app = self._turned_away(scope) or self._refusal(scope) or self._app
        await app(scope, receive, send)

    def _turned_away(self, scope: Scope) -> Response | None:
        """The answer to a request that came too late, or without the key it needs."""
        if reason := self._edge.closed_to(scope["path"]):
            self._metrics.errors.labels("not_ready").inc()
            return _not_ready(reason)
        shown = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
        try:
            scope["caller"] = self._edge.guard.admit(scope["method"], scope["path"], shown)
        except (Unauthorized, Forbidden) as error:
            self._metrics.errors.labels(error.code).inc()
            answer = problem(STATUS[type(error)], error.code, str(error))
            if isinstance(error, Unauthorized):
                answer.headers["www-authenticate"] = "Bearer"
            return answer
        return None

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request whose headers already tell that its body cannot be taken."""
        if scope["method"] not in ("POST", "PUT") or scope["streamed"]:  # no other route reads a body
            return None
        headers = scope["headers_by_name"]
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limits.max_bytes:
            self._metrics.errors.labels("body_too_large").inc()
            return problem(413, "body_too_large", self._limits.too_large())
        if _has_body(headers) and not _JSON.fullmatch(headers.get("content-type", "")):
            self._metrics.errors.labels("unsupported_media_type").inc()
            return problem(415, "unsupported_media_type", "send the body as content-type: application/json")
        return None

    def _account(self, request: _Request) -> None:
        route, seconds = request.route, time.perf_counter() - request.began
        self._metrics.answered(route, request.method, request.status, seconds, request.timings)
        access_log.info(
            "%s %s %s",
            request.method,
            request.path,
            request.status,
            extra={"request_id": request.id, "milliseconds": round(1000 * seconds, 1)} | request.caller,
        )


def _by_name(headers: Sequence[RawHeader]) -> Mapping[str, str]:
    """Of several with one name, the first."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(headers)}


def _has_body(headers: Mapping[str, str]) -> bool:
    return headers.get("content-length", "0") not in ("", "0") or "transfer-encoding" in headers


def _not_ready(reason: str) -> Response:
    error = NotReady(reason)
    return problem(STATUS[NotReady], error.code, str(error))


class _Request:
    """One request as it goes along."""

    def __init__(self, scope: Scope, given_id: str) -> None:
        self._scope = scope
        self.id = given_id if _REQUEST_ID.fullmatch(given_id) else f"{random.getrandbits(128):032x}"  # no secret
        self.method: str = scope["method"]
        self.path: str = scope["path"]  # never the query string: it may hold texts
        self.status = 0
        self.began = time.perf_counter()
        self.timings = timings.start()

    @property
    def route(self) -> str:
        """The route's template, so that ids in paths make no new series."""
        return getattr(self._scope.get("route"), "path", "unmatched")

    @property
    def caller(self) -> dict[str, str]:
        """The name of the key that it showed, for the log."""
        name = self._scope.get("caller")
        return {"caller": name} if name else {}

    def marked(self, send: Send, draining: Draining) -> Send:
        """`send` that adds our headers to the answer."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                message["headers"] = self._headers(message.get("headers", ()), closing=draining.begun)
            await send(message)

        return marked

    def _headers(self, given: Iterable[RawHeader], *, closing: bool) -> list[RawHeader]:
        """Those of an answer, and ours; of the security headers, those that it does not set itself."""
        ours = [(b"x-request-id", self.id.encode()), (b"server-timing", self._server_timing())]
        if closing:
            ours.append((b"connection", b"close"))
        replaced = {name for name, _ in ours}
        headers = [header for header in given if header[0] not in replaced]
        there = {name for name, _ in headers}
        return [*headers, *ours, *(header for header in _SECURITY if header[0] not in there)]

    def _server_timing(self) -> bytes:
        total, spent = time.perf_counter() - self.began, self.timings
        stages = [b"%s;dur=%.2f" % (name, 1000 * spent[stage] if stage in spent else 0.0) for stage, name in _STAGES]
        return b", ".join([*stages, b"total;dur=%.2f" % (1000 * total)])
