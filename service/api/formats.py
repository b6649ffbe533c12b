"""Formats of a response: which one a client accepts, and the headers of pages and pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from fastapi import Request
from starlette.exceptions import HTTPException

PICTURE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
}

_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")

Format = TypeVar("Format", bound=str)


def documented_formats(media_types: Mapping[Format, str]) -> dict[int | str, dict[str, Any]]:
    """Documentation of the formats beside JSON."""
    return {200: {"content": {media_type: {} for name, media_type in media_types.items() if name != "json"}}}


def accepted_format(request: Request, media_types: Mapping[Format, str]) -> Format:
    """The format that the Accept headers prefer; of equals the first of `media_types`.

    `*/*` means that first one.

    Raises:
        HTTPException: none of them is accepted (406).
    """
    accept = ",".join(request.headers.getlist("accept")).strip() or "*/*"
    ranges = dict(_media_range(part) for part in accept.split(","))
    qualities = {name: _quality(media_type, ranges) for name, media_type in media_types.items()}
    best = max(qualities, key=lambda name: qualities[name])
    if qualities[best] == 0:
        raise HTTPException(406, f"available formats are {', '.join(media_types.values())}")
    return best


def prefers_page(request: Request) -> bool:
    """Whether a request prefers HTML to JSON, as those of browsers do."""
    try:
        return accepted_format(request, {"json": "application/json", "html": "text/html"}) == "html"
    except HTTPException:
        return False


def _quality(media_type: str, ranges: Mapping[str, float]) -> float:
    """Quality of the most specific range that covers a media type (RFC 9110, section 12.5.1).

    >>> _quality("image/png", {"*/*": 0.1, "image/*": 0.5}), _quality("image/png", {"text/html": 1.0})
    (0.5, 0.0)
    """
    specific_first = (media_type, media_type.partition("/")[0] + "/*", "*/*")
    return next((ranges[each] for each in specific_first if each in ranges), 0.0)


def _media_range(part: str) -> tuple[str, float]:
    media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
    qualities = [value[2:] for value in parameters if value.startswith("q=")]
    if not qualities:
        return media_type, 1.0
    return media_type, float(qualities[0]) if _QUALITY.fullmatch(qualities[0]) else 0.0
