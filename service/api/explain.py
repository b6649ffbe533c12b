"""/explain: why this score? As numbers, or as a picture."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Body, Header, Query, Response
from starlette.exceptions import HTTPException

from service.api.errors import responses
from service.api.schemas.explain import ExplainRequest, ExplainResponse, explain_response
from service.api.services import Services, Use
from service.rendering.caption import Caption
from service.rendering.html import render_html
from service.rendering.png import render_png
from service.rendering.svg import render_svg
from service.usecases.embed_texts import Given
from service.usecases.explain import Explained, ExplainFor, InCollection

router = APIRouter(tags=["explain"])

Format: TypeAlias = Literal["json", "svg", "png", "html"]

MEDIA_TYPES: Mapping[Format, str] = {
    "json": "application/json",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
}

PICTURE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "x-content-type-options": "nosniff",
}

_PICTURES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ExplainResponse,
        "content": {media_type: {} for name, media_type in MEDIA_TYPES.items() if name != "json"},
    }
}
_DOCUMENTED = _PICTURES | responses(400, 404, 406, 409, 413, 415, 422, 503)

Accept = Annotated[str, Header(description="Decides where `format` is null.")]


@router.get("/explain", response_model=None, responses=_DOCUMENTED)
async def explain(
    query: Annotated[ExplainRequest, Query()], use: Use, accept: Accept = "*/*"
) -> Response | ExplainResponse:
    """Show which words or tokens made the score of two texts. For long texts use POST."""
    return await _explain(query, query.format or _acceptable(accept), use)


@router.post("/explain", response_model=None, responses=_DOCUMENTED)
async def explain_long(
    body: Annotated[ExplainRequest, Body()], use: Use, accept: Accept = "*/*"
) -> Response | ExplainResponse:
    """The same, with texts of any length."""
    return await _explain(body, body.format or _acceptable(accept), use)


async def _explain(wanted: ExplainRequest, format_: Format, use: Services) -> Response | ExplainResponse:
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
        return await asyncio.to_thread(explain_response, explained, wanted)
    content = await asyncio.to_thread(_draw, explained, wanted, format_)
    return Response(content, media_type=MEDIA_TYPES[format_], headers=PICTURE_HEADERS)


def _draw(explained: Explained, wanted: ExplainRequest, format_: Format) -> str | bytes:
    caption = Caption(wanted.measure, explained.encoder.name, explained.a, explained.b, wanted.granularity)
    match format_:
        case "svg":
            return render_svg(explained.explanation, caption)
        case "png":
            return render_png(explained.explanation, caption)
        case _:
            return render_html(explained.explanation, caption)


def _acceptable(accept: str) -> Format:
    """The first format, by the client's order of preference, that we have; JSON for anything goes.

    >>> _acceptable("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"), _acceptable("image/*;q=0.5, image/png")
    ('html', 'png')
    """
    ranges = [_media_range(part) for part in accept.split(",") if part.strip()]
    for wanted, quality in sorted(ranges, key=lambda pair: -pair[1]):
        for name, media_type in MEDIA_TYPES.items():
            if quality > 0 and wanted in ("*/*", media_type, media_type.partition("/")[0] + "/*"):
                return name
    raise HTTPException(406, f"this can be had as {', '.join(MEDIA_TYPES.values())}")


def _media_range(part: str) -> tuple[str, float]:
    media_type, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((value[2:] for value in parameters if value.startswith("q=")), "1")
    try:
        return media_type, float(quality)
    except ValueError:
        return media_type, 0.0
