"""The names and addresses under which the service may be called.

A page of any site can point its own name at this machine (DNS rebinding). Its browser then takes the service for a part
of that site, and asks for no permission to call it; only the Host header still has the name of the page.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from semblance.service.addresses import ANY_HOST, is_loopback

_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^:\[\]/]*))(?::(?P<port>\d*))?", re.IGNORECASE)


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
