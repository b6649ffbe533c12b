"""/explain: why this score? As numbers, or as a picture."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Body, Query, Request, Response
from starlette.exceptions import HTTPException

from semblance.service.api.answers import written
from semblance.service.api.errors import responses
from semblance.service.api.schemas.explain import ExplainQuery, ExplainRequest, ExplainResponse, explain_response
from semblance.service.api.services import Services, Use
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.html import render_html
from semblance.service.rendering.svg import render_svg
from semblance.service.usecases.embed_texts import Given
from semblance.service.usecases.explain import Explained, ExplainFor, InCollection

router = APIRouter(tags=["explain"])

Format: TypeAlias = Literal["json", "svg", "png", "html"]

MEDIA_TYPES: Mapping[Format, str] = {
    "json": "application/json",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
}

PICTURE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
}

_PICTURES: dict[int | str, dict[str, Any]] = {
    200: {"content": {media_type: {} for name, media_type in MEDIA_TYPES.items() if name != "json"}}
}
_DOCUMENTED = _PICTURES | responses(400, 404, 406, 409, 413, 415, 422, 429, 503)

_QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


@router.get("/explain", response_model=ExplainResponse, responses=_DOCUMENTED)
async def explain(query: Annotated[ExplainQuery, Query()], use: Use, request: Request) -> Response:
    """Show which words or tokens made the score of two texts. For long texts use POST."""
    return await _explain(query, query.format or _acceptable(request), use)


@router.post("/explain", summary="Explain texts of any length", response_model=ExplainResponse, responses=_DOCUMENTED)
async def explain_long(body: Annotated[ExplainRequest, Body()], use: Use, request: Request) -> Response:
    """The same, with texts of any length."""
    return await _explain(body, body.format or _acceptable(request), use)


async def _explain(wanted: ExplainRequest, format_: Format, use: Services) -> Response:
    explained = await use.explain(
        ExplainFor(
            a=Given(wanted.a, "/a"),
            b=Given(wanted.b, "/b") if wanted.b is not None else InCollection(wanted.id or "", wanted.collection),
            measure=wanted.measure,
            model=wanted.model,
            granularity=wanted.granularity,
            max_links=wanted.max_links,
            truncate=wanted.truncate,
        )
    )
    if format_ == "json":
        cells = explained.explanation.contribution.size
        answer = await written("links", cells, lambda: explain_response(explained, wanted).model_dump_json())
    else:
        content = await _draw(explained, wanted, format_, use)
        answer = Response(content, media_type=MEDIA_TYPES[format_], headers=PICTURE_HEADERS)
    answer.headers["vary"] = "accept"
    return answer


async def _draw(explained: Explained, wanted: ExplainRequest, format_: Format, use: Services) -> str | bytes:
    caption = Caption(
        measure=explained.measure,
        model=explained.encoder.name,
        a=explained.a,
        b=explained.b,
        granularity=wanted.granularity,
        truncated=explained.truncated,
    )
    match format_:
        case "svg":
            return await asyncio.to_thread(render_svg, explained.explanation, caption)
        case "png":
            return await use.drawing.png(explained.explanation, caption)
        case _:
            return await asyncio.to_thread(render_html, explained.explanation, caption)


def _acceptable(request: Request) -> Format:
    """The format that the Accept headers like best; of equals the first in `MEDIA_TYPES`, so JSON for anything goes."""
    accept = ",".join(request.headers.getlist("accept")).strip() or "*/*"
    ranges = dict(_media_range(part) for part in accept.split(","))
    liking = {name: _liking(media_type, ranges) for name, media_type in MEDIA_TYPES.items()}
    best = max(liking, key=lambda name: liking[name])
    if liking[best] == 0:
        raise HTTPException(406, f"this can be had as {', '.join(MEDIA_TYPES.values())}")
    return best


def _liking(media_type: str, ranges: Mapping[str, float]) -> float:
    """The quality of the most specific range that covers a media type (RFC 9110, section 12.5.1).

    >>> _liking("image/png", {"*/*": 0.1, "image/*": 0.5}), _liking("image/png", {"text/html": 1.0})
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
