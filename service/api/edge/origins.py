"""Whose pages may call the service from a browser.

A page of any site can send a form, or a request without a body, to this machine, and needs no permission for it: only
the answer stays hidden from it. But a browser tells whose page it is, in headers that no page can change: `Origin` on
every method but GET and HEAD, and `Sec-Fetch-Site` where the connection is secure or to this machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from semblance.service.api.edge.hosts import split_host

_SAME_ORIGIN = "same-origin"  # of a page as its browser says
READING = frozenset({"GET", "HEAD", "OPTIONS"})  # methods that change nothing
_PORTS = {"http": "80", "https": "443"}


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


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request has a header by which browsers tell whose page it is from."""
    return "origin" in headers or "sec-fetch-site" in headers


def _is_of(origin: str, host: str, *, any_port: bool) -> bool:
    """Whether pages of an origin have this Host header, whose port some proxies leave out."""
    scheme, _, place = origin.lower().partition("://")
    (name, port), (own, own_port) = split_host(place), split_host(host.lower())
    if not name or name != own or scheme not in _PORTS:
        return False
    return any_port or (port or _PORTS[scheme]) == (own_port or _PORTS[scheme])
