"""Addresses in the playground for what a request shows.

Texts are in the fragment, which browsers send to no server.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

_DIFFERENCE = "/explain/difference"


def playground_address(path: str, query: str) -> str:
    """The address for a route and its query string.

    It is relative to the route, so that a path prefix stays.

    >>> playground_address("/explain", "a=one&b=two&measure=rcmd")
    './#compare?a=one&b=two&by=rcmd'
    >>> playground_address("/explain/difference", "query=one&a=1&b=2"), playground_address("/v1/models", "")
    ('../#search?query=one', '../')
    """
    root = "../" * (path.count("/") - 1) or "./"
    given = dict(parse_qsl(query))
    if path == "/explain":
        return root + _fragment("compare", _compared(given))
    if path == _DIFFERENCE:
        return root + _fragment(
            "search", {name: given.get(name) for name in ("query", "collection", "measure", "mode")}
        )
    return root


def _compared(given: Mapping[str, str]) -> dict[str, str | None]:
    if "id" in given:
        return {name: given.get(name) for name in ("a", "id", "collection", "measure")}
    by = ":".join(given[name] for name in ("measure", "model") if name in given) if "measure" in given else None
    return {"a": given.get("a"), "b": given.get("b"), "by": by}


def _fragment(tab: str, fields: Mapping[str, str | None]) -> str:
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"#{tab}?{query}" if query else f"#{tab}"
