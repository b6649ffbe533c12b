"""Whose pages may call the service from a browser.

A page of any site can send a form, or a request without a body, to this machine, and needs no permission for it: only
the answer stays hidden from it. But a browser tells whose page it is, in headers that no page can change: `Origin` on
every method but GET and HEAD, and `Sec-Fetch-Site` where the connection is secure or to this machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from semblance.service.api.edge.hosts import split_host

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
        own = origin is None or site == "same-origin" or _is_of(origin, headers.get("host", ""))
        return own and site != "cross-site"


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request has a header by which browsers tell whose page it is from."""
    return "origin" in headers or "sec-fetch-site" in headers


def _is_of(origin: str, host: str) -> bool:
    """Whether pages of an origin have this Host header; some proxies leave out its port."""
    scheme, _, place = origin.lower().partition("://")
    (name, port), (own, own_port) = split_host(place), split_host(host.lower())
    return bool(name) and name == own and scheme in _PORTS and own_port in ("", port or _PORTS[scheme])
