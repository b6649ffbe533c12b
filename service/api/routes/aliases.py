"""/aliases: further names of collections, which are switched at once."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from semblance_client.vocabulary.aliases import Alias, AliasList, AliasRequest
from semblance_client.vocabulary.fields import NAME_PATTERN, documented

from semblance.service.api.parameters import NewName
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.usecases.collections import Collections

router = APIRouter(prefix="/aliases", tags=["collections"], route_class=StrictRoute)

AliasInPath = Annotated[
    str, documented(pattern=NAME_PATTERN, examples=["current"]), Path(description="Name of the alias.")
]


@router.put(
    "/{name}", summary="Create or switch an alias", responses={201: {"model": Alias, "description": "It is new."}}
)
async def set_alias(name: NewName, body: AliasRequest, collections: Use[Collections], response: Response) -> Alias:
    """Let a name lead to a collection.

    Each request that begins later, by that name, gets this collection whole.
    """
    alias, new = await collections.set_alias(name, body.collection)
    response.status_code = 201 if new else 200
    return alias


@router.get("", summary="List all aliases")
async def list_aliases(collections: Use[Collections]) -> AliasList:
    """All aliases with their collections, by name."""
    return await collections.aliases()


@router.delete("/{name}", summary="Delete an alias", status_code=204)
async def delete_alias(name: AliasInPath, collections: Use[Collections]) -> None:
    """Delete an alias, and leave its collection."""
    await collections.drop_alias(name)
