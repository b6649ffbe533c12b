"""/collections/{name}/count: documents that match a filter, and their metadata."""

from __future__ import annotations

from fastapi import APIRouter

from semblance.service.api.refusals import FIELDS, READ, responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.count import CountRequest, CountResponse, FacetOut, FacetValueOut
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.usecases.documents.count import CountDocuments

router = APIRouter(tags=["documents"], route_class=StrictRoute)

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


@router.post("/collections/{name}/count", summary="Count documents by a filter", responses=_REFUSALS)
async def count_documents(
    name: CollectionInPath, count: Use[CountDocuments], body: CountRequest | None = None
) -> CountResponse:
    """Count the documents that match, and those with the most frequent values of some fields."""
    options = body or CountRequest()
    facets = {each.field: each.values for each in options.facets}
    counted = await count(name, options.filter, facets, options.min_version)
    return CountResponse(
        count=counted.documents,
        facets=[
            FacetOut(
                field=field,
                values=[FacetValueOut(value=each.value, count=each.documents) for each in facet.values],
                distinct=facet.distinct,
            )
            for field, facet in counted.facets.items()
        ],
        version=str(counted.version),
        warnings=warnings_out(counted.warnings),
    )
