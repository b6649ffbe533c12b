"""/collections: create, show and delete collections."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.collections import Collection, CollectionList, CollectionRequest
from semblance_client.vocabulary.glossary import Glossary, GlossaryRequest

from semblance.service.api.parameters import CollectionInPath, NameInPath, NewName
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.glossaries import Glossaries

router = APIRouter(tags=["collections"], route_class=StrictRoute)


@router.put(
    "/collections/{name}",
    summary="Create a collection",
    responses={201: {"model": Collection, "description": "It is new."}},
)
async def create_collection(
    name: NewName, collections: Use[Collections], response: Response, body: CollectionRequest | None = None
) -> Collection:
    """Create a collection; the same request again changes nothing."""
    collection, new = await collections.create(name, body or CollectionRequest())
    response.status_code = 201 if new else 200
    return collection


@router.get("/collections", summary="List all collections")
async def list_collections(collections: Use[Collections]) -> CollectionList:
    """All collections, by name."""
    return await collections.list()


@router.get("/collections/{name}", summary="Show a collection")
async def get_collection(name: CollectionInPath, collections: Use[Collections]) -> Collection:
    """One collection."""
    return await collections.show(name)


@router.put("/collections/{name}/glossary", summary="Set a glossary")
async def set_glossary(name: CollectionInPath, body: GlossaryRequest, glossaries: Use[Glossaries]) -> Glossary:
    """Set the words and phrases that are equal, opposite or ignored in searches of a collection.

    It replaces the glossary before; without groups there is none. Nothing is encoded again.
    """
    return await glossaries.put(name, body)


@router.get("/collections/{name}/glossary", summary="Show a glossary")
async def get_glossary(name: CollectionInPath, glossaries: Use[Glossaries]) -> Glossary:
    """The glossary of a collection; a key with a filter may not read it."""
    return await glossaries.show(name)


@router.delete("/collections/{name}", summary="Delete a collection", status_code=204)
async def delete_collection(name: NameInPath, collections: Use[Collections]) -> None:
    """Delete a collection with its documents and aliases; an alias is not accepted here."""
    await collections.drop(name)
