"""/collections/{name}/rollover: re-embedding a collection under another model."""

from __future__ import annotations

from fastapi import APIRouter

from semblance.service.api.refusals import ENCODING, FIELDS, MODEL, TEXTS, WRITE, responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.collections import (
    CollectionOut,
    RolloverRequest,
    StepOut,
    SwitchedOut,
    collection_out,
)
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.usecases.roll_over import RollOver

router = APIRouter(prefix="/collections/{name}/rollover", tags=["collections"], route_class=StrictRoute)


@router.put(
    "",
    summary="Begin a roll-over to another model",
    responses=responses(
        *FIELDS, *MODEL, *WRITE, "ill_formed_text", "rollover_differs", "unknown_collection", "write_conflict"
    ),
)
async def begin_rollover(name: CollectionInPath, body: RolloverRequest, roll_over: Use[RollOver]) -> CollectionOut:
    """Start to re-embed a collection under another model; repeating the request has no effect.

    Searches use the present model until the switch. `rollover` is null in the answer if there is nothing to do.
    """
    return collection_out(*await roll_over.begin(name, body.model))


@router.post(
    "/step",
    summary="Embed the next documents of a roll-over",
    responses=responses(
        *TEXTS,
        *ENCODING,
        *WRITE,
        "invalid_request",
        "no_rollover",
        "space_mismatch",
        "unknown_collection",
        "unknown_field",
        "write_conflict",
    ),
)
async def step_rollover(name: CollectionInPath, roll_over: Use[RollOver]) -> StepOut:
    """Embed up to 256 more documents under the next model, as background work.

    A 422 names every document whose text that model refuses; change or delete those.
    """
    progress = await roll_over.step(name)
    return StepOut(embedded=progress.embedded, left=progress.left, version=str(progress.version))


@router.post(
    "/switch",
    summary="Switch a collection to the next model",
    responses=responses(
        *WRITE,
        "model_loading",
        "model_unavailable",
        "no_rollover",
        "rollover_unfinished",
        "space_mismatch",
        "unknown_collection",
        "unknown_field",
    ),
)
async def switch_rollover(name: CollectionInPath, roll_over: Use[RollOver]) -> SwitchedOut:
    """Switch the collection to the next model, once that has embedded every document."""
    return SwitchedOut(version=str(await roll_over.switch(name)))


@router.delete(
    "",
    summary="Cancel a roll-over",
    status_code=204,
    responses=responses(*WRITE, "unknown_collection", "unknown_field"),
)
async def cancel_rollover(name: CollectionInPath, roll_over: Use[RollOver]) -> None:
    """Cancel the rollover: delete the next model's vectors and keep the present model."""
    await roll_over.drop(name)
