"""/collections: create, show and delete collections."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from semblance.models import catalogue
from semblance.service.api.errors import responses
from semblance.service.api.routing import Use
from semblance.service.api.schemas.collections import CollectionList, CollectionOut, CollectionRequest, collection_out
from semblance.service.api.schemas.fields import CollectionInPath, CollectionName
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.usecases.collections import Collections, NewCollection

router = APIRouter(tags=["collections"])


@router.put(
    "/collections/{name}", responses={201: {"model": CollectionOut}, **responses(400, 404, 409, 413, 415, 422, 503)}
)
async def create(
    name: Annotated[CollectionName, Path(examples=["mine"])],
    collections: Use[Collections],
    response: Response,
    body: CollectionRequest | None = None,
) -> CollectionOut:
    """Create a collection; the same request again changes nothing."""
    options = body or CollectionRequest()
    if options.index not in (known := (AUTO, *catalogue.names(ENGINES))):
        detail = f"unknown index {options.index!r}; choose one of {', '.join(known)}"
        raise InvalidRequest([Problem("/index", "unknown_index", detail)])
    collection, size, new = await collections.create(
        name, NewCollection(model=options.model, measure=options.measure, index=options.index, tokens=options.tokens)
    )
    response.status_code = 201 if new else 200
    return collection_out(collection, size)


@router.get("/collections", responses=responses(503))
async def list_(collections: Use[Collections]) -> CollectionList:
    """All collections, by name."""
    return CollectionList(collections=[collection_out(*each) for each in await collections.list()])


@router.get("/collections/{name}", responses=responses(404, 503))
async def show(name: CollectionInPath, collections: Use[Collections]) -> CollectionOut:
    """One collection."""
    return collection_out(*await collections.show(name))


@router.delete("/collections/{name}", status_code=204, responses=responses(404, 503))
async def drop(name: CollectionInPath, collections: Use[Collections]) -> None:
    """Delete a collection with its documents."""
    await collections.drop(name)
