"""/collections/{name}/reembedding: re-embedding a collection under another model."""

from __future__ import annotations

from fastapi import APIRouter
from semblance_client.vocabulary.collections import Collection, ReembeddingRequest, ReembeddingStep, SwitchedVersion

from semblance.service.api.parameters import CollectionInPath
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.usecases.reembed import Reembedder

router = APIRouter(prefix="/collections/{name}/reembedding", tags=["collections"], route_class=StrictRoute)


@router.put("", summary="Begin a re-embedding to another model or passages")
async def begin_reembedding(
    name: CollectionInPath, body: ReembeddingRequest, reembedder: Use[Reembedder]
) -> Collection:
    """Start to re-embed a collection, under another model or in other passages.

    Repeating the request has no effect. Searches use the present embeddings until the switch. `reembedding` is null in
    the response if there is nothing to do.
    """
    return await reembedder.begin(name, body)


@router.post("/step", summary="Embed the next documents of a re-embedding")
async def step_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> ReembeddingStep:
    """Embed up to 256 more documents under the next model, as background work.

    A 422 names every document whose text that model rejects; change or delete those.
    """
    return await reembedder.step(name)


@router.post("/switch", summary="Switch a collection to the next model")
async def switch_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> SwitchedVersion:
    """Switch the collection to the next model, once that has embedded every document."""
    return await reembedder.switch(name)


@router.delete("", summary="Cancel a re-embedding", status_code=204)
async def cancel_reembedding(name: CollectionInPath, reembedder: Use[Reembedder]) -> None:
    """Cancel the re-embedding: delete the next model's vectors and keep the present model."""
    await reembedder.drop(name)
