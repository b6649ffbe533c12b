"""/collections/{name}/count, /list, /map and /delete: the documents that match a filter."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.documents import Deleted
from semblance_client.vocabulary.matching import (
    Counted,
    CountRequest,
    DeleteRequest,
    DocumentMap,
    ListRequest,
    MapRequest,
    MatchingDocuments,
)

from semblance.service.api.parameters import CollectionInPath
from semblance.service.api.routing import StrictRoute, Use, json_answer
from semblance.service.usecases.documents.by_filter import DocumentsByFilter
from semblance.service.usecases.documents.document_map import MapDocuments

router = APIRouter(prefix="/collections/{name}", tags=["documents"], route_class=StrictRoute)


@router.post("/count", summary="Count documents by a filter")
async def count_documents(
    name: CollectionInPath, documents: Use[DocumentsByFilter], body: CountRequest | None = None
) -> Counted:
    """Count the documents that match, and those with the most frequent values of some fields."""
    return await documents.count(name, body or CountRequest())


@router.post("/list", summary="List documents by a filter")
async def list_matching(
    name: CollectionInPath, documents: Use[DocumentsByFilter], body: ListRequest | None = None
) -> MatchingDocuments:
    """A page of the documents that match, sorted by their ids or by a metadata field.

    By ids, a cursor goes on after the last one, whatever is stored or deleted meanwhile; by a field it counts
    documents, as an offset does. Where texts are long, a page has less than `limit`.
    """
    return await documents.list(name, body or ListRequest())


@router.post("/map", summary="Map documents", response_model=DocumentMap)
async def map_documents(
    name: CollectionInPath, documents: Use[MapDocuments], body: MapRequest | None = None
) -> Response:
    """Documents as points, by the first two principal components of their vectors.

    Distant points differ. Near ones may differ, too: the vectors have hundreds of directions, and `explained` says how
    much of their variance these two hold.
    """
    drawn = await documents.draw(name, body or MapRequest())
    return await json_answer("map", len(drawn.points), drawn.model_dump_json)


@router.post("/delete", summary="Delete documents by a filter, or by their ids")
async def delete_matching(name: CollectionInPath, body: DeleteRequest, documents: Use[DocumentsByFilter]) -> Deleted:
    """Delete the documents that match, or those of some ids; ids that do not exist are left out.

    Those of ids are deleted in one transaction, those of a filter in transactions of at most 1,000: if the request
    fails in between, repeat it.
    """
    return await documents.delete(name, body)
