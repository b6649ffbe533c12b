"""Paths of requests: further spellings of known ones, and which one an unknown path means."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from starlette.routing import Route

DOCUMENTS = "/collections/{name}/documents"
FILES = "/files"

_ALIASES = {"/embeddings": "/v1/embeddings"}  # for clients of OpenAI's API that are given the address without /v1
_AS_THEY_ARE = re.compile(
    r"/+|/docs/.*|/help/.*|/playground/.*|/collections/[^/]+/documents/.+", re.DOTALL
)  # ids may end in /
_DOCUMENT = re.compile(r"(/collections/[^/]+/documents)/.+", re.DOTALL)
_MAX_CHARS = 200  # of a path that is compared with the known ones
_CLOSE = 0.8


def canonical_path(path: str) -> str:
    """The path that a request means: without a slash at its end, and never an alias.

    Middlewares and routes see only this one, so that a key is checked for the route that serves the request.

    >>> canonical_path("/search/"), canonical_path("/embeddings"), canonical_path("/collections/faq/documents/a/")
    ('/search', '/v1/embeddings', '/collections/faq/documents/a/')
    """
    if path.endswith("/") and not _AS_THEY_ARE.fullmatch(path):
        path = path[:-1]
    return _ALIASES.get(path, path)


def other_path(path: str) -> str:
    """The end of a message about a method that the path of a document lacks.

    >>> other_path("/collections/faq/documents/1"), other_path("/search")
    ('; to store it, POST /collections/faq/documents, or to change its metadata, PATCH that', '')
    """
    match = _DOCUMENT.fullmatch(path[:_MAX_CHARS])
    return f"; to store it, POST {match[1]}, or to change its metadata, PATCH that" if match else ""


def unknown_path(path: str, routes: Collection[Route]) -> str:
    """The message for a path that none of the routes has.

    Many clients add a path such as `/v1/embeddings` to their base address, and get one that already ends in some of it.
    """
    parts = [part for part in path[:_MAX_CHARS].split("/") if part]
    for start in range(len(parts)):
        end = "/" + "/".join(parts[start:])
        if any(route.path_regex.match(end) for route in routes):
            before = "/" + "/".join(parts[:start]) if start else "a slash at its end"
            return f"unknown path; {end} is meant: use the base address without {before}"
    close = get_close_matches(path[:_MAX_CHARS].lower(), [route.path for route in routes], 1, _CLOSE)
    return f"unknown path; the nearest one is {close[0]}, see /docs" if close else "unknown path; see /docs"
