"""Middleware: check the key of a request; the scope that each route requires."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Receive, Scope, Send

from semblance.service.api.edge.context import RawHeader, context_of, is_documents, rejection
from semblance.service.api.edge.key_entries import Key, KeyRing, KeyScope, digest_of
from semblance.service.api.errors import STATUS
from semblance.service.callers import UNLIMITED, set_caller
from semblance.service.errors import Forbidden, Unauthorized
from semblance.service.observability.metrics import Metrics

METRICS = "/metrics"

_DOCUMENT = re.compile(r"/collections/[^/]+/documents/.*", re.DOTALL)
_WRITE_BY_POST = re.compile(r"/collections/[^/]+/delete|/caches/[^/]+/store|/files")
_OPEN = re.compile(r"/|/playground/.*|/live|/ready|/health|/docs|/docs/assets/.*|/help(/.*)?|/openapi\.json")
_READ_BY_POST = re.compile(  # queries too long for a URL
    r"/|/similarity|/search|/suggest|/prune|/same|/explain(/difference)?|/rerank|/score|/pooling|/embed|/embed_all|/tokenize|/decode"
    r"|/api/(embed|embeddings|show)|/v1/(embed|embeddings|rerank|score|tokenize)|/v2/(embed|rerank)|/openai/deployments/[^/]+/embeddings"
    r"|/collections/[^/]+/(count|list|duplicates|map)|/caches/[^/]+/lookup"
)


def scope_of(method: str, path: str) -> KeyScope:
    """The scope that a request requires; `admin` unless less is known to suffice.

    >>> scope_of("POST", "/search"), scope_of("POST", "/collections/faq/documents"), scope_of("PUT", "/collections/faq")
    ('read', 'write', 'admin')
    >>> scope_of("DELETE", "/collections/faq/documents/a/b")
    'write'
    """
    if method in ("GET", "HEAD") or (method == "POST" and _READ_BY_POST.fullmatch(path)):
        return "read"
    if method in ("POST", "PATCH", "DELETE") and (is_documents(path) or _DOCUMENT.fullmatch(path)):
        return "write"
    if method == "POST" and _WRITE_BY_POST.fullmatch(path):
        return "write"
    return "admin"


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks the key of a request. Without keys, every request is admitted.

    Args:
        ring: known keys.
        metrics_open: whether GET /metrics is open.
    """

    ring: KeyRing = field(default_factory=KeyRing)
    metrics_open: bool = False

    def needs_key(self, method: str, path: str) -> bool:
        """Whether a request must send a key."""
        if not self.ring.keys:
            return False
        is_open = _OPEN.fullmatch(path) or (self.metrics_open and path == METRICS)
        return not (method in ("GET", "HEAD") and is_open)

    def admit(self, method: str, path: str, authorization: Sequence[str]) -> Key | None:
        """The key that a request sends, None where it needs none.

        Args:
            method: of the request.
            path: of the request, decoded.
            authorization: the values of its Authorization headers.

        Raises:
            Unauthorized: it needs a key, and sends no known one.
            Forbidden: its key lacks the scope, or has limits where all collections are shown.
        """
        if not self.needs_key(method, path):
            return None
        key = self._key(authorization)
        required = scope_of(method, path)
        if required not in key.scopes:
            raise Forbidden(f"this requires the scope {required}, which the key {key.name} lacks", key.name)
        if path == METRICS and key.permission.is_limited:
            raise Forbidden(f"the metrics are those of all collections, and the key {key.name} has limits", key.name)
        return key

    def _key(self, authorization: Sequence[str]) -> Key:
        scheme, _, secret = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise Unauthorized("this requires a key; send it as Authorization: Bearer KEY")
        digest = digest_of(secret.strip())
        # every entry is compared, so that the time does not reveal which one matches
        matches = [key for key in self.ring.keys if hmac.compare_digest(key.digest, digest)]
        if not matches:
            raise Unauthorized("unknown key")
        return matches[0]


class KeyCheck:
    """Rejects requests without a sufficient key, and sets the caller of the others."""

    def __init__(self, app: ASGIApp, metrics: Metrics, guard: Guard) -> None:
        self._app = app
        self._metrics = metrics
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        try:
            key = self._admitted(scope)
        except Unauthorized as error:
            response = rejection(self._metrics, STATUS[Unauthorized], error.code, str(error))
            response.headers["www-authenticate"] = "Bearer"
            await response(scope, receive, send)
        except Forbidden as error:
            context_of(scope).caller = error.caller  # for the log
            await rejection(self._metrics, STATUS[Forbidden], error.code, str(error))(scope, receive, send)
        else:
            context_of(scope).caller = key.name if key else ""
            set_caller(key.name if key else _address(scope), key.permission if key else UNLIMITED)
            await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> Key | None:
        """The key of a request; None without one. Raises Unauthorized, Forbidden."""
        if not self._guard.ring.keys:  # anyone may call
            return None
        return self._guard.admit(scope["method"], scope["path"], authorization_of(scope["headers"]))


def authorization_of(headers: Iterable[RawHeader]) -> list[str]:
    """The values of Authorization headers; without one, those of `api-key`, as Azure has it."""
    sent = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
    return sent or [f"Bearer {value.decode('latin-1')}" for name, value in headers if name == b"api-key"]


def _address(scope: Scope) -> str:
    """The address of the client; empty on a Unix socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""
