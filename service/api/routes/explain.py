"""/explain: the reasons of a score, as JSON or as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlencode

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import ConfigDict
from semblance_client.vocabulary.explanation import ExplainRequest, PairExplanation
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models import catalogue
from semblance.service.api.formats import PICTURE_HEADERS, accepted_format, documented_formats
from semblance.service.api.playground_links import playground_address
from semblance.service.api.routing import StrictRoute, Use, json_answer, with_truncated
from semblance.service.model_loading.typical_scores import typical_of
from semblance.service.rendering.caption import Caption, Probable
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.playground import VIEW_TYPE, playground_view
from semblance.service.rendering.png import DrawingProcess
from semblance.service.rendering.svg.picture import render_svg
from semblance.service.turns import draw
from semblance.service.usecases.explain.explain import Explain, ExplainedPair

MOSTLY = 0.5  # more often than not

router = APIRouter(tags=["explain"], route_class=StrictRoute)

Format: TypeAlias = Literal["json", "svg", "png", "html"]

MEDIA_TYPES: Mapping[Format, str] = {
    "json": "application/json",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
}


class ExplainQuery(ExplainRequest):
    """The same in a query string, where everything is a string."""

    model_config = ConfigDict(strict=False)


@router.get(
    "/explain", summary="Explain a score", response_model=PairExplanation, responses=documented_formats(MEDIA_TYPES)
)
async def explain(
    query: Annotated[ExplainQuery, Query()],
    explainer: Use[Explain],
    drawing: Use[DrawingProcess],
    request: Request,
) -> Response:
    """Show which words or tokens determine the score of two texts. For long texts use POST."""
    return await _explain(query, request, explainer, drawing)


@router.post(
    "/explain",
    summary="Explain the score of long texts",
    response_model=PairExplanation,
    responses=documented_formats(MEDIA_TYPES),
)
async def explain_long_texts(
    body: Annotated[ExplainRequest, Body()],
    explainer: Use[Explain],
    drawing: Use[DrawingProcess],
    request: Request,
) -> Response:
    """The same, with texts of any length."""
    return await _explain(body, request, explainer, drawing)


class PlaygroundExplanation(PairExplanation):
    """An explanation, and how the playground draws it."""

    view: dict[str, Any]


async def _explain(body: ExplainRequest, request: Request, explainer: Explain, drawing: DrawingProcess) -> Response:
    viewed = request.method == "POST" and request.headers.get("accept") == VIEW_TYPE
    format_ = "json" if viewed else body.format or accepted_format(request, MEDIA_TYPES)
    pair = await explainer.explain(body)

    def write() -> str:
        response = pair.response(body.max_links)
        if viewed:
            view = playground_view(pair.explanation, pair.same, catalogue.similarity(pair.measure).bounds[1])
            response = PlaygroundExplanation(**dict(response), view=view)
        return response.model_dump_json()

    if format_ == "json":
        answer = await json_answer("views" if viewed else "links", pair.explanation.contribution.size, write)
    else:
        content = await _draw(pair, body.id, format_, drawing)
        answer = Response(content, media_type=MEDIA_TYPES[format_], headers=PICTURE_HEADERS)
    answer.headers["vary"] = "accept"
    return with_truncated(answer, pair.a.truncated + pair.b.truncated, pair.passages)


def _warning(notice: RequestWarning) -> str:
    return f"Warning: text {'a' if notice.pointer == '/a' else 'b'}: {notice.detail}"


def _probable(result: ExplainedPair) -> Probable | None:
    known, probability = result.calibration, result.probability
    if known is None or probability is None:
        return None
    return Probable(probability, known.probability.lowest_score(MOSTLY), known.summary.data)


def _in_playground(result: ExplainedPair) -> str:
    """The address of the same texts in the playground, relative to this route."""
    shown = {"a": result.a.text, "b": result.b.text, "measure": result.measure, "model": result.encoder.name}
    return playground_address("/explain", urlencode(shown))


async def _draw(result: ExplainedPair, document: str | None, format_: Format, drawing: DrawingProcess) -> str | bytes:
    caption = Caption(
        measure=result.measure,
        model=result.encoder.name,
        a=result.a,
        b=result.b,
        granularity=result.granularity,
        best=catalogue.similarity(result.measure).bounds[1],
        document=document,
        warnings=tuple(_warning(notice) for notice in result.warnings),
        probable=_probable(result),
        same=result.same,
        typical=typical_of(result.encoder.space, result.measure),
    )
    match format_:
        case "svg":
            return await draw(render_svg, result.explanation, caption)
        case "png":
            return await drawing.png(result.explanation, caption)
        case _:
            return await draw(render_html, result.explanation, caption, _in_playground(result))
