"""/explain/difference: why one document stands above another, as JSON or as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlencode

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import ConfigDict
from semblance_client.vocabulary.difference import DifferenceRequest, ScoreDifference

from semblance.models import catalogue
from semblance.service.api.formats import PICTURE_HEADERS, accepted_format, documented_formats
from semblance.service.api.playground_links import playground_address
from semblance.service.api.routing import StrictRoute, Use, json_answer
from semblance.service.rendering.html.difference import DifferencePage, DocumentSide, render_difference
from semblance.service.turns import draw
from semblance.service.usecases.explain.difference import ExplainDifference, ExplainedDifference, ExplainedDocument

router = APIRouter(tags=["explain"], route_class=StrictRoute)

Format: TypeAlias = Literal["json", "html"]

MEDIA_TYPES: Mapping[Format, str] = {"json": "application/json", "html": "text/html"}


class DifferenceQuery(DifferenceRequest):
    """The same in a query string, where everything is a string."""

    model_config = ConfigDict(strict=False)


@router.get(
    "/explain/difference",
    summary="Explain why a document stands above another",
    response_model=ScoreDifference,
    responses=documented_formats(MEDIA_TYPES),
)
async def explain_difference(
    query: Annotated[DifferenceQuery, Query()], explain: Use[ExplainDifference], request: Request
) -> Response:
    """Show which words of a query make the difference of two scores. For long queries use POST."""
    return await _explain(query, request, explain)


@router.post(
    "/explain/difference",
    summary="Explain a difference for a long query",
    response_model=ScoreDifference,
    responses=documented_formats(MEDIA_TYPES),
)
async def explain_long_difference(
    body: Annotated[DifferenceRequest, Body()], explain: Use[ExplainDifference], request: Request
) -> Response:
    """The same, with a query of any length."""
    return await _explain(body, request, explain)


async def _explain(body: DifferenceRequest, request: Request, explain: ExplainDifference) -> Response:
    format_ = body.format or accepted_format(request, MEDIA_TYPES)
    found = await explain.explain(body)
    if format_ == "json":
        answer = await json_answer("parts", len(found.parts), lambda: found.response().model_dump_json())
    else:
        page = await draw(render_difference, _page(found), _in_playground(body, found.measure))
        answer = Response(page, media_type=MEDIA_TYPES[format_], headers=PICTURE_HEADERS)
    answer.headers["vary"] = "accept"
    return answer


def _in_playground(options: DifferenceRequest, measure: str) -> str:
    """The address of the same search in the playground, relative to this route."""
    shown = options.model_dump(include={"query", "collection", "mode"}, exclude_none=True) | {"measure": measure}
    return playground_address("/explain/difference", urlencode(shown))


def _page(found: ExplainedDifference) -> DifferencePage:
    names = {"/query": "query", "/a": "A", "/b": "B"}
    return DifferencePage(
        query=found.query,
        a=_side(found.a),
        b=_side(found.b),
        parts=found.parts,
        measure=found.measure,
        model=found.encoder.name,
        terms=found.mode == "hybrid",
        distance=catalogue.is_distance(found.measure),
        warnings=tuple(f"Warning: {names[warning.pointer]}: {warning.detail}" for warning in found.warnings),
    )


def _side(document: ExplainedDocument) -> DocumentSide:
    return DocumentSide(document.id, document.text, document.explanation, document.bonus)
