"""What stands between the network and the routes, as the envelope is told: keys, origins, and the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from semblance.service.api.edge.keys import Guard
from semblance.service.errors import NotReady
from semblance.service.process.readiness import Readiness
from semblance.service.process.shutdown import Draining

# an answer may set its own policy; the others load nothing, stand in no frame, and leave no trace
SECURITY_HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

# what an unready process answers all the same: whoever looks after it must see how it stands
_LOOKED_AT = frozenset({"/live", "/ready", "/metrics"})

_EXPOSED = ("retry-after", "server-timing", "www-authenticate", "x-request-id")


@dataclass(frozen=True, slots=True)
class Edge:
    """What every request meets before its route.

    Args:
        guard: who may call what.
        draining: whether anybody may.
        readiness: whether requests should come here at all.
        origins: whose pages may call from a browser.
    """

    guard: Guard = field(default_factory=Guard)
    draining: Draining = field(default_factory=Draining)
    readiness: Readiness = field(default_factory=Readiness)
    origins: tuple[str, ...] = ()

    def closed_to(self, path: str) -> str | None:
        """Why no request to that path is served now, if none is."""
        if self.draining.begun:
            return str(NotReady())
        if path not in _LOOKED_AT and not self.readiness.holds():
            return "the service cannot answer at the moment: GET /ready says why"
        return None

    def cors(self, app: ASGIApp) -> ASGIApp:
        """`app` for the pages of other origins too, where any are allowed."""
        if not self.origins:
            return app
        return CORSMiddleware(
            app,
            allow_origins=self.origins,
            allow_methods=("GET", "POST", "PUT", "DELETE"),
            allow_headers=("authorization", "content-type", "x-request-id"),
            expose_headers=_EXPOSED,
        )
