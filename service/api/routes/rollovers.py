"""/collections/{name}/rollover: re-embedding a collection under another model."""

from __future__ import annotations

from fastapi import APIRouter

from semblance.service.api.errors import responses
from semblance.service.api.schemas.collections import CollectionOut, collection_out
from semblance.service.api.schemas.rollovers import RolloverRequest, StepOut, SwitchedOut
from semblance.service.api.services import Use
from semblance.service.api.text_types import CollectionInPath

router = APIRouter(prefix="/collections/{name}/rollover", tags=["collections"])


@router.put("", responses=responses(400, 404, 409, 413, 415, 422, 503))
async def begin(name: CollectionInPath, body: RolloverRequest, use: Use) -> CollectionOut:
    """Begin to re-embed a collection under another model; the same request again changes nothing.

    Until the switch, searches go on with the present model. `rollover` is null in the answer if there is nothing to do.
    """
    return collection_out(*await use.roll_over.begin(name, body.model))


@router.post("/step", responses=responses(404, 409, 413, 422, 503))
async def step(name: CollectionInPath, use: Use) -> StepOut:
    """Embed up to 256 documents more under the next model, as background work.

    A 422 names every document whose text that model does not take: change or delete these.
    """
    done = await use.roll_over.step(name)
    return StepOut(embedded=done.embedded, left=done.left, version=str(done.version))


@router.post("/switch", responses=responses(404, 409, 503))
async def switch(name: CollectionInPath, use: Use) -> SwitchedOut:
    """Let the next model be the collection's own, once it has embedded every document."""
    return SwitchedOut(version=str(await use.roll_over.switch(name)))


@router.delete("", status_code=204, responses=responses(404, 503))
async def drop(name: CollectionInPath, use: Use) -> None:
    """Forget what the next model made; the collection stays with the present one."""
    await use.roll_over.drop(name)
