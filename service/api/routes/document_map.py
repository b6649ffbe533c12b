"""/collections/{name}/map: documents as points in the plane."""

from __future__ import annotations

from fastapi import APIRouter, Response

from semblance.service.api.refusals import FIELDS, READ, responses
from semblance.service.api.routing import StrictRoute, Use, json_answer
from semblance.service.api.schemas.document_map import MapPointOut, MapRequest, MapResponse
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.usecases.documents.document_map import MapDocuments, MapParams

router = APIRouter(prefix="/collections/{name}", tags=["documents"], route_class=StrictRoute)

_REFUSALS = responses(
    *FIELDS,
    *READ,
    "bad_filter",
    "bad_version",
    "ill_formed_text",
    "not_finite",
    "unknown_collection",
    "version_mismatch",
)


@router.post("/map", summary="Map documents", response_model=MapResponse, responses=_REFUSALS)
async def map_documents(name: CollectionInPath, draw: Use[MapDocuments], body: MapRequest | None = None) -> Response:
    """Documents as points, by the two directions in which their vectors differ most (principal components).

    Distant points differ. Near ones may differ, too: the vectors have hundreds of directions, and `explained` says how
    much of their variance these two hold.
    """
    options = body or MapRequest()
    drawn = await draw(MapParams(name, options.filter, options.field, options.limit, options.min_version))
    page = MapResponse(
        points=[MapPointOut(id=each.id, x=each.x, y=each.y, text=each.text, value=each.value) for each in drawn.points],
        documents=drawn.documents,
        explained=list(drawn.explained),
        version=str(drawn.version),
        warnings=warnings_out(drawn.warnings),
    )
    return await json_answer("map", len(page.points), page.model_dump_json)
