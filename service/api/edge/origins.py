"""Middleware: reject requests to other hosts, and from pages of other origins.

A page of any site can point its own name at this machine (DNS rebinding). Its browser then takes the service for a part
of that site, and asks for no permission to call it; only the Host header still has the name of the page.

A page of any site can also send a form, or a request without a body, to this machine, and needs no permission for it:
only the response stays hidden from it. But a browser tells whose page it is, in headers that no page can change:
`Origin` on every method but GET and HEAD, and `Sec-Fetch-Site` where the connection is secure or to this machine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from semblance.service.addresses import ANY_HOST, is_loopback
from semblance.service.api.edge.context import RequestContext, context_of, rejection
from semblance.service.observability.metrics import Metrics

_SAME_ORIGIN = "same-origin"  # of a page as its browser says
READING = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing
_PORTS = {"http": "80", "https": "443"}
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^:\[\]/]*))(?::(?P<port>\d*))?", re.IGNORECASE)
_WRONG_HOST = "the service may not be called under this host; list it in SEMBLANCE_ALLOWED_HOSTS to allow it"
_WRONG_ORIGIN = (
    "pages of this origin may not call the service from a browser; list it in SEMBLANCE_CORS_ORIGINS to allow it"
)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names and addresses, without ports and in lower case; `ANY_HOST` among them allows all.

    >>> allowed = AllowedHosts({"search.example.org"})
    >>> allowed.allow("Search.Example.org:443"), allowed.allow("[::1]:8000"), allowed.allow("example.org")
    (True, True, False)
    """

    names: Collection[str] = (ANY_HOST,)

    def allow(self, host: str) -> bool:
        """Whether a request may have this Host header; this machine may always call itself."""
        if ANY_HOST in self.names:
            return True
        name, _ = split_host(host.lower())
        return name in self.names or is_loopback(name)


def split_host(host: str) -> tuple[str, str]:
    """The name or address, and the port, of a Host header; an empty name if it is malformed.

    >>> split_host("[::1]:8000"), split_host("example.org"), split_host("a:b:c")
    (('::1', '8000'), ('example.org', ''), ('', ''))
    """
    parsed = _HOST.fullmatch(host)
    return (parsed["address"] or parsed["name"], parsed["port"] or "") if parsed else ("", "")


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """Origins whose pages may call beside those of the service itself.

    >>> allowed = AllowedOrigins({"https://app.example.org"})
    >>> host = {"host": "127.0.0.1:8000"}
    >>> allowed.allow("POST", host | {"origin": "http://127.0.0.1:8000"}), allowed.allow("POST", host)
    (True, True)
    >>> allowed.allow("POST", host | {"origin": "https://evil.example"}), allowed.allow("GET", {"origin": "null"})
    (False, True)
    """

    listed: Collection[str] = ()

    def allow(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether a request with these headers comes from a page that may send it, or from none."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if method in READING or origin in self.listed:
            return True
        if site not in (None, _SAME_ORIGIN, "none"):
            return False
        if origin is None or (origin == "null" and site == _SAME_ORIGIN):  # as of own pages that send no referrer
            return True
        return _is_of(origin, headers.get("host", ""), any_port=site == _SAME_ORIGIN)


def _is_of(origin: str, host: str, *, any_port: bool) -> bool:
    """Whether pages of an origin have this Host header, whose port some proxies leave out."""
    scheme, _, place = origin.lower().partition("://")
    (name, port), (own, own_port) = split_host(place), split_host(host.lower())
    if not name or name != own or scheme not in _PORTS:
        return False
    return any_port or (port or _PORTS[scheme]) == (own_port or _PORTS[scheme])


class OriginCheck:
    """Rejects requests to another host, and those from a page of another origin."""

    def __init__(self, app: ASGIApp, metrics: Metrics, hosts: AllowedHosts, origins: AllowedOrigins) -> None:
        self._app = app
        self._metrics = metrics
        self._is_allowed = lru_cache(maxsize=64)(hosts.allow)  # a client has the same host in all its requests
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        await (self._rejected(context_of(scope)) or self._app)(scope, receive, send)

    def _rejected(self, context: RequestContext) -> Response | None:
        host = context.headers.get("host")  # HTTP/1.0 may do without, but browsers always send it
        if host is not None and not self._is_allowed(host):
            return rejection(self._metrics, 421, "host_not_allowed", _WRONG_HOST)
        if not self._origins.allow(context.method, context.headers):
            return rejection(self._metrics, 403, "origin_not_allowed", _WRONG_ORIGIN)
        return None
