"""Re-embedding a collection under another model, step by step, while it serves what the present one made."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.service.ports.documents import Collection, CollectionSize, Document, DocumentStore, Rollover, Version
from semblance.service.ports.embedding import ServedModels
from semblance.service.replication.access import HeldCollections
from semblance.service.replication.retries import undisturbed
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_documents import DocumentEmbedder
from semblance.service.usecases.embed_texts import Given

STEP = 256  # documents that are embedded and committed together


@dataclass(frozen=True, slots=True)
class Step:
    """How many documents were embedded, how many are left, and the version that holds those embedded.

    Of the embedded ones, those that were changed meanwhile are among those left.
    """

    embedded: int
    left: int
    version: Version


class RollOver:
    """Each step takes its work from the store and commits it there: any process may take the next one, or two at once.

    Nothing goes on between steps, so whoever takes them may stop at any time, and go on later.
    """

    def __init__(
        self, models: ServedModels, collections: Collections, local: HeldCollections, embedder: DocumentEmbedder
    ) -> None:
        self._models = models
        self._collections = collections
        self._local = local
        self._embedder = embedder

    async def begin(self, name: str, model: str) -> tuple[Collection, CollectionSize]:
        """Have a collection re-embedded under a model; nothing changes if it is already, or is filled by that model.

        Raises:
            UnknownCollection, UnknownModel, RolloverDiffers, WriteConflict: see semblance.service.errors.
        """
        encoder = await self._models.get(model)
        rollover = Rollover(encoder.name, encoder.space, encoder.dim)
        return await undisturbed(
            lambda: self._begin(name, rollover), f"collection {name!r} was made anew again and again"
        )

    async def step(self, name: str) -> Step:
        """Embed some more documents under the next model, as background work.

        Raises:
            UnknownCollection, NoRollover, SpaceMismatch, WriteConflict: see semblance.service.errors.
            InvalidRequest: the next model takes some of the texts not at all; the pointers name their documents.
        """
        return await undisturbed(lambda: self._step(name), f"the encoders of collection {name!r} kept changing")

    async def switch(self, name: str) -> Version:
        """Let the next model be the collection's own, from the version that is returned on.

        Raises:
            UnknownCollection, NoRollover, RolloverUnfinished, SpaceMismatch: see semblance.service.errors.
        """
        collection = await self._local.read_truth(lambda store: store.collection(name))
        await self._collections.next_encoder_of(collection)  # else nobody could search here any more
        return await self._local.switch(name)

    async def drop(self, name: str) -> None:
        """Forget what the next model made; nothing changes if there is none. Raises UnknownCollection."""
        await self._local.write(name, lambda store: store.drop_rollover(name))

    async def _begin(self, name: str, rollover: Rollover) -> tuple[Collection, CollectionSize]:
        collection, size = await self._local.read_truth(lambda store: store.sizes([name])[0])
        filled = collection.rollover is None and collection.settings.space == rollover.space
        if filled or collection.rollover == rollover:
            return collection, size
        return await self._local.write(name, lambda store: _begun(store, collection, rollover))

    async def _step(self, name: str) -> Step:
        """One attempt: look at what lacks a vector of the next model, encode it, write."""
        collection, documents = await self._local.read_truth(lambda store: _unfilled(store, name))
        encoder = await self._collections.next_encoder_of(collection)
        if not documents:
            return Step(0, 0, collection.version)
        given = {each.id: Given(each.text, f"/documents/{each.id}") for each in documents}
        embedded = await self._embedder.embed(encoder, given, collection.settings.tokens, bulk=True)
        filled = [(each, embedded.made[each.id]) for each in documents]
        version = await self._local.write(name, lambda store: store.fill(collection, filled))
        left, _ = await self._local.read_truth(lambda store: store.unfilled(name, 0))
        return Step(len(documents), left, version)


def _begun(store: DocumentStore, found: Collection, rollover: Rollover) -> tuple[Collection, CollectionSize]:
    store.begin_rollover(found, rollover)
    return store.sizes([found.name])[0]


def _unfilled(store: DocumentStore, name: str) -> tuple[Collection, list[Document]]:
    """A collection, and some documents that the next model has not embedded, read thereafter."""
    return store.collection(name), store.unfilled(name, STEP)[1]
