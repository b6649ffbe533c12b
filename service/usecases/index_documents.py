"""Storing documents so that they can be found, and taking them out again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from semblance.models.protocols import Encoder
from semblance.service.errors import InvalidRequest, Problem, UnknownDocument
from semblance.service.ports.documents import Collection, Document, Version, Write
from semblance.service.replication.access import HeldCollections
from semblance.service.replication.retries import undisturbed
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_documents import DocumentEmbedder
from semblance.service.usecases.embed_texts import Given


@dataclass(frozen=True, slots=True)
class Indexed:
    """How many documents were stored, the version that holds them, and the ids of those that were cut to fit."""

    upserted: int
    version: Version
    truncated: Sequence[str]
    tokens: int


class IndexDocuments:
    """Encodes documents and stores them, all or none. A text that is already stored is not encoded again.

    While the collection is re-embedded under another encoder, a new text is encoded by both.
    """

    def __init__(self, collections: Collections, local: HeldCollections, embedder: DocumentEmbedder) -> None:
        self._collections = collections
        self._local = local
        self._embedder = embedder

    async def __call__(self, name: str, documents: Sequence[Document], *, bulk: bool = False) -> Indexed:
        """Store documents; an id that exists is replaced. With `bulk`, as background work.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest, WriteConflict: see semblance.service.errors.
        """
        _require_distinct(documents)
        return await undisturbed(
            lambda: self._store(name, documents, bulk=bulk), "other writers kept changing the same documents"
        )

    async def require_open(self, name: str) -> None:
        """Raise UnknownCollection or SpaceMismatch if collection `name` takes no documents here."""
        await self._encoders(await self._local.read_truth(lambda store: store.collection(name)))

    async def _store(self, name: str, documents: Sequence[Document], *, bulk: bool) -> Indexed:
        """One attempt: look at what is stored, encode what is new, write."""
        ids = [document.id for document in documents]
        collection, stored = await self._local.read_truth(lambda store: store.get_at(name, ids))
        new = {
            document.id: Given(document.text, f"/documents/{i}/text")
            for i, document in enumerate(documents)
            if not _same_text(document, stored.get(document.id))
        }
        made = [
            await self._embedder.embed(encoder, new, collection.settings.tokens, bulk=bulk)
            for encoder in await self._encoders(collection)
        ]
        writes = [Write(document, *(each.made.get(document.id) for each in made)) for document in documents]
        version = await self._local.write(name, lambda store: store.upsert(collection, writes))
        truncated = [doc_id for doc_id in ids if (made[0].made.get(doc_id) or stored[doc_id]).truncated]
        return Indexed(len(documents), version, truncated, sum(each.tokens for each in made))

    async def delete(self, name: str, doc_id: str) -> Version:
        """Delete a document. Raises UnknownCollection, UnknownDocument."""
        return await self._local.write(name, lambda store: store.delete(name, doc_id))

    async def get(self, name: str, doc_id: str) -> Document:
        """A stored document. Raises UnknownCollection, UnknownDocument."""
        found = await self._local.read(lambda store: store.get(name, [doc_id]))
        if doc_id not in found:
            raise UnknownDocument(f"collection {name!r} has no document {doc_id!r}")
        return found[doc_id]

    async def page(self, name: str, after: str, limit: int) -> list[Document]:
        """Up to `limit` documents with an id above `after`, by id. Raises UnknownCollection."""
        return await self._local.read(lambda store: store.scan(name, after, limit))

    async def _encoders(self, collection: Collection) -> list[Encoder]:
        """The model that fills a collection and, while it is re-embedded, the next one. Raises SpaceMismatch."""
        own = await self._collections.encoder_of(collection)
        return [own] if collection.rollover is None else [own, await self._collections.next_encoder_of(collection)]


def _same_text(document: Document, stored: Document | None) -> bool:
    return stored is not None and stored.text == document.text


def _require_distinct(documents: Sequence[Document]) -> None:
    times = Counter(document.id for document in documents)
    problems = [
        Problem(f"/documents/{i}/id", "duplicate_id", f"the id {document.id!r} stands in this request more than once")
        for i, document in enumerate(documents)
        if times[document.id] > 1
    ]
    if problems:
        raise InvalidRequest(problems)
