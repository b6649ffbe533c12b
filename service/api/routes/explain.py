"""/explain: the reasons of a score, as JSON or as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlencode

from fastapi import APIRouter, Body, Query, Request, Response

from semblance.models import catalogue
from semblance.service.api.formats import PICTURE_HEADERS, accepted_format, documented_formats
from semblance.service.api.playground_links import playground_address
from semblance.service.api.refusals import ENCODING, FIELDS, INDEX, MODEL, READ, TEXTS, responses
from semblance.service.api.routing import StrictRoute, Use, json_answer
from semblance.service.api.schemas.explain import ExplainQuery, ExplainRequest, ExplainResponse, explain_response
from semblance.service.rendering.caption import Caption, Probable
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.playground import VIEW_TYPE, playground_view
from semblance.service.rendering.png import DrawingProcess
from semblance.service.rendering.svg.picture import render_svg
from semblance.service.request_warnings import RequestWarning
from semblance.service.turns import draw
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.explain.explain import (
    DEFAULT_MEASURE,
    DocumentRef,
    Explain,
    ExplainParams,
    PairExplanation,
)

MOSTLY = 0.5  # more often than not

router = APIRouter(tags=["explain"], route_class=StrictRoute)

Format: TypeAlias = Literal["json", "svg", "png", "html"]

MEDIA_TYPES: Mapping[Format, str] = {
    "json": "application/json",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
}

_DOCUMENTED = documented_formats(MEDIA_TYPES) | responses(
    *FIELDS,
    *TEXTS,
    *MODEL,
    *ENCODING,
    *READ,
    *INDEX,
    "not_acceptable",
    "not_explainable",
    "space_mismatch",
    "unknown_collection",
    "unknown_document",
    "unknown_measure",
    "write_conflict",
)


@router.get("/explain", summary="Explain a score", response_model=ExplainResponse, responses=_DOCUMENTED)
async def explain(
    query: Annotated[ExplainQuery, Query()],
    explainer: Use[Explain],
    drawing: Use[DrawingProcess],
    request: Request,
) -> Response:
    """Show which words or tokens determine the score of two texts. For long texts use POST."""
    return await _explain(query, query.format or accepted_format(request, MEDIA_TYPES), explainer, drawing)


@router.post(
    "/explain", summary="Explain the score of long texts", response_model=ExplainResponse, responses=_DOCUMENTED
)
async def explain_long_texts(
    body: Annotated[ExplainRequest, Body()],
    explainer: Use[Explain],
    drawing: Use[DrawingProcess],
    request: Request,
) -> Response:
    """The same, with texts of any length."""
    format_ = "view" if request.headers.get("accept") == VIEW_TYPE else body.format
    return await _explain(body, format_ or accepted_format(request, MEDIA_TYPES), explainer, drawing)


class _ViewResponse(ExplainResponse):
    """An explanation, and how the playground draws it."""

    view: dict[str, Any]


async def _explain(
    options: ExplainRequest, format_: Format | Literal["view"], explainer: Explain, drawing: DrawingProcess
) -> Response:
    result = await explainer(
        ExplainParams(
            a=InputText(options.a, "/a"),
            b=InputText(options.b, "/b")
            if options.b is not None
            else DocumentRef(options.id or "", options.collection),
            measure=options.measure or DEFAULT_MEASURE,
            model=options.model,
            granularity=options.granularity,
            max_links=options.max_links,
            truncate=options.truncate,
        )
    )
    if format_ == "json":
        cells = result.explanation.contribution.size
        answer = await json_answer("links", cells, lambda: explain_response(result, options).model_dump_json())
    elif format_ == "view":
        answer = await json_answer("views", result.explanation.contribution.size, lambda: _view(result, options))
    else:
        content = await _draw(result, options, format_, drawing)
        answer = Response(content, media_type=MEDIA_TYPES[format_], headers=PICTURE_HEADERS)
    answer.headers["vary"] = "accept"
    return answer


def _view(result: PairExplanation, options: ExplainRequest) -> str:
    view = playground_view(result.explanation)
    return _ViewResponse(**dict(explain_response(result, options)), view=view).model_dump_json()


def _warning(notice: RequestWarning) -> str:
    return f"Warning: text {'a' if notice.pointer == '/a' else 'b'}: {notice.detail}"


def _probable(result: PairExplanation) -> Probable | None:
    known = result.calibration
    if known is None:
        return None
    score = result.explanation.score
    return Probable(known.probability_of(score), known.probability.lowest_score(MOSTLY), known.data)


def _in_playground(result: PairExplanation) -> str:
    """The address of the same texts in the playground, relative to this route."""
    shown = {"a": result.a.text, "b": result.b.text, "measure": result.measure, "model": result.encoder.name}
    return playground_address("/explain", urlencode(shown))


async def _draw(
    result: PairExplanation, options: ExplainRequest, format_: Format, drawing: DrawingProcess
) -> str | bytes:
    caption = Caption(
        measure=result.measure,
        model=result.encoder.name,
        a=result.a,
        b=result.b,
        granularity=options.granularity,
        best=catalogue.similarity(result.measure).bounds[1],
        document=options.id,
        warnings=tuple(_warning(notice) for notice in result.warnings),
        probable=_probable(result),
    )
    match format_:
        case "svg":
            return await draw(render_svg, result.explanation, caption)
        case "png":
            return await drawing.png(result.explanation, caption)
        case _:
            return await draw(render_html, result.explanation, caption, _in_playground(result))
