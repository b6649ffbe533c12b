"""/collections/{name}/reembedding: re-embedding a collection under another model."""

from __future__ import annotations

from fastapi import APIRouter

from semblance.service.api.refusals import ENCODING, FIELDS, MODEL, TEXTS, WRITE, responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.collections import (
    CollectionOut,
    ReembeddingRequest,
    StepOut,
    SwitchedOut,
    collection_out,
)
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.usecases.reembed import Reembedder

router = APIRouter(prefix="/collections/{name}/reembedding", tags=["collections"], route_class=StrictRoute)


@router.put(
    "",
    summary="Begin a re-embedding to another model or passages",
    responses=responses(
        *FIELDS,
        *MODEL,
        *WRITE,
        "ill_formed_text",
        "reembedding_differs",
        "unknown_collection",
        "write_conflict",
    ),
)
async def begin_reembedding(
    name: CollectionInPath, body: ReembeddingRequest, reembedder: Use[Reembedder]
) -> CollectionOut:
    """Start to re-embed a collection, under another model or in other passages.

    Repeating the request has no effect. Searches use the present embeddings until the switch. `reembedding` is null in
    the answer if there is nothing to do.
    """
    return collection_out(*await reembedder.begin(name, body.model, body.passages))


@router.post(
    "/step",
    summary="Embed the next documents of a re-embedding",
    responses=responses(
        *TEXTS,
        *ENCODING,
        *WRITE,
        "invalid_request",
        "no_reembedding",
        "space_mismatch",
        "unknown_collection",
        "unknown_field",
        "write_conflict",
    ),
)
async def step_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> StepOut:
    """Embed up to 256 more documents under the next model, as background work.

    A 422 names every document whose text that model refuses; change or delete those.
    """
    progress = await reembedder.step(name)
    return StepOut(embedded=progress.embedded, left=progress.left, version=str(progress.version))


@router.post(
    "/switch",
    summary="Switch a collection to the next model",
    responses=responses(
        *WRITE,
        "index_unavailable",
        "model_loading",
        "model_unavailable",
        "no_reembedding",
        "reembedding_unfinished",
        "space_mismatch",
        "unknown_collection",
        "unknown_field",
    ),
)
async def switch_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> SwitchedOut:
    """Switch the collection to the next model, once that has embedded every document."""
    return SwitchedOut(version=str(await reembedder.switch(name)))


@router.delete(
    "",
    summary="Cancel a re-embedding",
    status_code=204,
    responses=responses(*WRITE, "unknown_collection", "unknown_field"),
)
async def cancel_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> None:
    """Cancel the re-embedding: delete the next model's vectors and keep the present model."""
    await reembedder.drop(name)
