"""/collections/{name}/rollover: re-embedding a collection under another model."""

from __future__ import annotations

from fastapi import APIRouter

from semblance.service.api.errors import responses
from semblance.service.api.routing import Use
from semblance.service.api.schemas.collections import (
    CollectionOut,
    RolloverRequest,
    StepOut,
    SwitchedOut,
    collection_out,
)
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.usecases.roll_over import RollOver

router = APIRouter(prefix="/collections/{name}/rollover", tags=["collections"])


@router.put("", responses=responses(400, 404, 409, 413, 415, 422, 503))
async def begin(name: CollectionInPath, body: RolloverRequest, roll_over: Use[RollOver]) -> CollectionOut:
    """Start to re-embed a collection under another model; repeating the request has no effect.

    Searches use the present model until the switch. `rollover` is null in the answer if there is nothing to do.
    """
    return collection_out(*await roll_over.begin(name, body.model))


@router.post("/step", responses=responses(404, 409, 413, 422, 503))
async def step(name: CollectionInPath, roll_over: Use[RollOver]) -> StepOut:
    """Embed up to 256 more documents under the next model, as background work.

    A 422 names every document whose text that model refuses; change or delete those.
    """
    progress = await roll_over.step(name)
    return StepOut(embedded=progress.embedded, left=progress.left, version=str(progress.version))


@router.post("/switch", responses=responses(404, 409, 503))
async def switch(name: CollectionInPath, roll_over: Use[RollOver]) -> SwitchedOut:
    """Switch the collection to the next model, once that has embedded every document."""
    return SwitchedOut(version=str(await roll_over.switch(name)))


@router.delete("", status_code=204, responses=responses(404, 503))
async def drop(name: CollectionInPath, roll_over: Use[RollOver]) -> None:
    """Cancel the rollover: delete the next model's vectors and keep the present model."""
    await roll_over.drop(name)
