"""/collections/{name}/count, /list, /map and /delete: the documents that match a filter."""

from __future__ import annotations

from fastapi import APIRouter, Response

from semblance.service.api.cursors import Place, read_cursor, write_cursor
from semblance.service.api.refusals import FIELDS, INDEX, READ, WRITE, responses
from semblance.service.api.routing import StrictRoute, Use, json_answer, require_at_most
from semblance.service.api.schemas.documents import document_out
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.api.schemas.matching import (
    CountRequest,
    CountResponse,
    DeleteRequest,
    DeleteResponse,
    ListRequest,
    ListResponse,
    MapPointOut,
    MapRequest,
    MapResponse,
    facets_out,
)
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.ports.indexes import DocumentSelection, Order
from semblance.service.settings import Settings
from semblance.service.usecases.documents.count import CountDocuments
from semblance.service.usecases.documents.delete import DeleteDocuments
from semblance.service.usecases.documents.document_map import MapDocuments, MapParams
from semblance.service.usecases.documents.listing import ListDocuments

router = APIRouter(prefix="/collections/{name}", tags=["documents"], route_class=StrictRoute)

_MATCHING = (
    *INDEX,
    "bad_filter",
    "bad_version",
    "ill_formed_text",
    "not_finite",
    "unknown_collection",
    "version_mismatch",
)


@router.post("/count", summary="Count documents by a filter", responses=responses(*FIELDS, *READ, *_MATCHING))
async def count_documents(
    name: CollectionInPath, count: Use[CountDocuments], body: CountRequest | None = None
) -> CountResponse:
    """Count the documents that match, and those with the most frequent values of some fields."""
    options = body or CountRequest()
    facets = {each.field: each.values for each in options.facets}
    counted = await count(name, options.filter, facets, options.min_version)
    return CountResponse(
        count=counted.documents,
        facets=facets_out(counted.facets),
        version=str(counted.version),
        warnings=warnings_out(counted.warnings),
    )


@router.post(
    "/list", summary="List documents by a filter", responses=responses(*FIELDS, *READ, *_MATCHING, "bad_cursor")
)
async def list_matching(
    name: CollectionInPath, find: Use[ListDocuments], body: ListRequest | None = None
) -> ListResponse:
    """A page of the documents that match, sorted by their ids or by a metadata field.

    By ids, a cursor goes on after the last one, whatever is stored or deleted meanwhile; by a field it counts
    documents, as an offset does. Where texts are long, a page has less than `limit`.
    """
    options = body or ListRequest()
    place = read_cursor(options.cursor) if options.cursor else Place(offset=options.offset)
    order = Order(options.sort.field, options.sort.descending) if options.sort else None
    selection = DocumentSelection(options.filter, options.limit, order, place.offset, place.after)
    found = await find(name, selection, options.min_version)
    following = Place(place.after, place.offset + found.read) if order else Place(found.last)
    return ListResponse(
        documents=[document_out(each) for each in found.documents],
        cursor=write_cursor(following) if found.more else None,
        version=str(found.version),
        warnings=warnings_out(found.warnings),
    )


@router.post(
    "/map", summary="Map documents", response_model=MapResponse, responses=responses(*FIELDS, *READ, *_MATCHING)
)
async def map_documents(name: CollectionInPath, draw: Use[MapDocuments], body: MapRequest | None = None) -> Response:
    """Documents as points, by the first two principal components of their vectors.

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


@router.post(
    "/delete",
    summary="Delete documents by a filter, or by their ids",
    responses=responses(*FIELDS, *WRITE, *_MATCHING, "write_conflict"),
)
async def delete_matching(
    name: CollectionInPath, body: DeleteRequest, delete: Use[DeleteDocuments], settings: Use[Settings]
) -> DeleteResponse:
    """Delete the documents that match, or those of some ids; ids that do not exist are left out.

    Those of ids are deleted in one transaction, those of a filter in transactions of at most 1,000: if the request
    fails in between, repeat it.
    """
    if body.filter is not None:
        done = await delete.by_filter(name, body.filter, body.min_version)
    else:
        require_at_most("/ids", len(body.ids or []), settings.max_documents, "ids")
        done = await delete.by_ids(name, body.ids or [])
    return DeleteResponse(deleted=done.deleted, version=str(done.version), warnings=warnings_out(done.warnings))
