"""/collections: making, showing and deleting them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from semblance.models import catalogue
from semblance.service.api.errors import responses
from semblance.service.api.schemas.collections import CollectionList, CollectionOut, CollectionRequest, collection_out
from semblance.service.api.services import Use
from semblance.service.api.text_types import CollectionInPath, CollectionName
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.usecases.collections import NewCollection

router = APIRouter(tags=["collections"])


@router.put(
    "/collections/{name}", responses={201: {"model": CollectionOut}, **responses(400, 404, 409, 413, 415, 422, 503)}
)
async def create(
    name: Annotated[CollectionName, Path(examples=["mine"])],
    use: Use,
    response: Response,
    body: CollectionRequest | None = None,
) -> CollectionOut:
    """Create a collection; the same request again changes nothing."""
    wanted = body or CollectionRequest()
    if wanted.index not in (AUTO, *catalogue.names(ENGINES)):
        known = ", ".join((AUTO, *catalogue.names(ENGINES)))
        raise InvalidRequest(
            [Problem("/index", "unknown_index", f"there is no index {wanted.index!r}: choose one of {known}")]
        )
    collection, size, new = await use.collections.create(
        name, NewCollection(model=wanted.model, measure=wanted.measure, index=wanted.index, tokens=wanted.tokens)
    )
    response.status_code = 201 if new else 200
    return collection_out(collection, size)


@router.get("/collections", responses=responses(503))
async def list_(use: Use) -> CollectionList:
    """All collections, by name."""
    return CollectionList(collections=[collection_out(*each) for each in await use.collections.list()])


@router.get("/collections/{name}", responses=responses(404, 503))
async def show(name: CollectionInPath, use: Use) -> CollectionOut:
    """One collection."""
    return collection_out(*await use.collections.show(name))


@router.delete("/collections/{name}", status_code=204, responses=responses(404, 503))
async def drop(name: CollectionInPath, use: Use) -> None:
    """Delete a collection and all it holds."""
    await use.collections.drop(name)
