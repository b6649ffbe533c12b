"""/collections: create, show and delete collections."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from semblance.models import catalogue
from semblance.service.api.refusals import FIELDS, MODEL, READ, WRITE, responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.collections import (
    CollectionList,
    CollectionOut,
    CollectionRequest,
    collection_out,
)
from semblance.service.api.schemas.fields import CollectionInPath, CollectionName
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.usecases.collections import Collections, NewCollection

router = APIRouter(tags=["collections"], route_class=StrictRoute)


_CREATED: dict[int | str, dict[str, Any]] = {201: {"model": CollectionOut, "description": "It is new."}}
_NOT_CREATED = responses(
    *FIELDS,
    *MODEL,
    *WRITE,
    "bad_name",
    "collection_differs",
    "ill_formed_text",
    "unknown_index",
    "unknown_measure",
)


@router.put("/collections/{name}", summary="Create a collection", responses=_CREATED | _NOT_CREATED)
async def create_collection(
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
    wanted = NewCollection(
        model=options.model,
        measure=options.measure,
        index=options.index,
        tokens=options.tokens,
        passages=options.passages,
    )
    collection, size, new = await collections.create(name, wanted)
    response.status_code = 201 if new else 200
    return collection_out(collection, size)


@router.get("/collections", summary="List all collections", responses=responses(*READ, "unknown_field"))
async def list_collections(collections: Use[Collections]) -> CollectionList:
    """All collections, by name."""
    return CollectionList(collections=[collection_out(*each) for each in await collections.list()])


@router.get(
    "/collections/{name}",
    summary="Show a collection",
    responses=responses(*READ, "unknown_collection", "unknown_field"),
)
async def get_collection(name: CollectionInPath, collections: Use[Collections]) -> CollectionOut:
    """One collection."""
    return collection_out(*await collections.show(name))


@router.delete(
    "/collections/{name}",
    summary="Delete a collection",
    status_code=204,
    responses=responses(*WRITE, "unknown_collection", "unknown_field"),
)
async def delete_collection(name: CollectionInPath, collections: Use[Collections]) -> None:
    """Delete a collection with its documents."""
    await collections.drop(name)
