"""/caches/{name}: look up and store answers by texts that say the same."""

from __future__ import annotations

from fastapi import APIRouter
from semblance_client.vocabulary.caches import CacheStored, CacheStoreRequest, Lookup, LookupRequest

from semblance.service.api.parameters import CollectionInPath
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.usecases.paraphrases.caches import Caches

router = APIRouter(prefix="/caches/{name}", tags=["caches"], route_class=StrictRoute)


@router.post("/lookup", summary="Look up an answer")
async def look_up_answer(name: CollectionInPath, body: LookupRequest, caches: Use[Caches]) -> Lookup:
    """Get the answer of a stored text that says the same, or why the nearest were refused.

    The cache is a collection whose model has a paraphrase classifier.
    """
    return await caches.look_up(name, body)


@router.post("/store", summary="Store an answer")
async def store_answer(name: CollectionInPath, body: CacheStoreRequest, caches: Use[Caches]) -> CacheStored:
    """Store the answer of a text; that of the same text in the same scope is replaced."""
    return await caches.store(name, body)
