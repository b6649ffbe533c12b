"""Re-embed a collection under another model in steps, while the present one serves it."""

from __future__ import annotations

from semblance_client.vocabulary import collections as vocabulary
from semblance_client.vocabulary.collections import ReembeddingRequest, ReembeddingStep, SwitchedVersion

from semblance.models.protocols import Encoder
from semblance.models.tokenization.passages import Cut
from semblance.service.ports.document_store import DocumentReader, DocumentWriter
from semblance.service.ports.documents import Collection, CollectionSize, Document, Reembedding
from semblance.service.ports.embedding import ServedModels
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.usecases.collections import Collections, collection_response, cut_for
from semblance.service.usecases.documents.embed import DocumentEmbedder, searched_text

STEP_DOCUMENTS = 256  # at most, embedded and committed together; of long ones, the store returns fewer


class Reembedder:
    """Runs a re-embedding in steps; no state is kept between them, so it may stop and resume.

    Each step reads its work from the store and commits it there: any process may run the next, even concurrently.
    """

    def __init__(
        self, models: ServedModels, collections: Collections, access: CollectionAccess, embedder: DocumentEmbedder
    ) -> None:
        self._models = models
        self._collections = collections
        self._access = access
        self._embedder = embedder

    async def begin(self, name: str, request: ReembeddingRequest) -> vocabulary.Collection:
        """Begin to re-embed a collection, under a model or cut in another way; idempotent.

        What is None stays as it is; passages are cut shorter for a model that reads less.

        Raises:
            UnknownCollection, UnknownModel, ReembeddingDiffers, WriteConflict, InvalidRequest: see
                semblance.service.errors.
        """
        collection = await self._access.read_primary(lambda store: store.collection(name))
        model, passages = request.model or collection.settings.model, request.passages
        encoder = await self._models.get(model)
        fields = collection.settings.text_fields
        cut = _shortened(collection.settings.cut, encoder) if passages is None else cut_for(passages, encoder, fields)
        tokens, overlap = (None, 0) if cut is None else cut
        reembedding = Reembedding(encoder.name, encoder.space, encoder.dim, tokens, overlap, encoder.precision)
        begun = await retry_on_conflict(
            lambda: self._begin(name, reembedding), f"collection {name!r} was recreated repeatedly"
        )
        return collection_response(*begun)

    async def step(self, name: str) -> ReembeddingStep:
        """Embed some documents under the next model, as background work.

        Raises:
            UnknownCollection, NoReembedding, SpaceMismatch, WriteConflict: see semblance.service.errors.
            InvalidRequest: the next model cannot encode some texts; the pointers name their documents.
        """
        return await retry_on_conflict(lambda: self._step(name), f"the encoders of collection {name!r} kept changing")

    async def switch(self, name: str) -> SwitchedVersion:
        """Make the next model the collection's own, from the returned version on.

        Raises:
            UnknownCollection, NoReembedding, ReembeddingUnfinished, SpaceMismatch: see semblance.service.errors.
        """
        collection = await self._access.read_primary(lambda store: store.collection(name))
        await self._collections.next_encoder_of(collection)  # without it, no search could be served here
        return SwitchedVersion(version=str(await self._access.switch(name)))

    async def drop(self, name: str) -> None:
        """Delete the embeddings by the next model, if there is one. Raises UnknownCollection."""
        await self._access.write(name, lambda store: store.drop_reembedding(name))

    async def _begin(self, name: str, reembedding: Reembedding) -> tuple[Collection, CollectionSize]:
        collection, size = await self._access.read_primary(lambda store: store.sizes([name])[0])
        filled = collection.reembedding is None and collection.settings.generation == reembedding.generation
        if filled or collection.reembedding == reembedding:
            return collection, size

        def begin(store: DocumentWriter) -> tuple[Collection, CollectionSize]:
            store.begin_reembedding(collection, reembedding)
            return store.sizes([name])[0]

        return await self._access.write(name, begin)

    async def _step(self, name: str) -> ReembeddingStep:
        """Make one attempt: read documents to be embedded, encode them, write."""

        def read(store: DocumentReader) -> tuple[Collection, list[Document]]:
            return store.collection(name), store.unfilled(name, STEP_DOCUMENTS)[1]

        collection, documents = await self._access.read_primary(read)
        encoder = await self._collections.next_encoder_of(collection)
        if not documents:
            return ReembeddingStep(embedded=0, left=0, version=str(collection.version))
        text_fields = collection.settings.text_fields
        texts = {each.id: searched_text(each, text_fields, f"/documents/{each.id}") for each in documents}
        assert collection.reembedding is not None
        cut = collection.reembedding.cut
        embedded = await self._embedder.embed_stored(encoder, texts, cut, collection.settings.tokens)
        filled = [(each, embedded.by_id[each.id]) for each in documents]
        version = await self._access.write(name, lambda store: store.fill(collection, filled))
        left, _ = await self._access.read_primary(lambda store: store.unfilled(name, 0))
        return ReembeddingStep(embedded=len(documents), left=left, version=str(version))


def _shortened(cut: Cut | None, encoder: Encoder) -> Cut | None:
    """The cut, of no more than the encoder reads. Raises InvalidRequest if that leaves no room."""
    return cut and cut_for(cut._replace(tokens=min(cut.tokens, encoder.max_tokens)), encoder)
