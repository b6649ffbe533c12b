"""Storing documents so that they can be found, and taking them out again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.embeddings import TokenEmbeddings, Want, unit_rows
from models.protocols import Encoder
from models.token_codes import encode_tokens
from service.errors import InvalidRequest, Overtaken, Problem, UnknownDocument, WriteConflict
from service.ports import Collection, Document, Embedded, Version, Write
from service.usecases.collections import Collections
from service.usecases.embed_texts import Given, TextEmbedder
from service.usecases.held_collections import HeldCollections

ATTEMPTS = 5  # how often a write is tried again because another changed the same texts meanwhile


@dataclass(frozen=True, slots=True)
class Indexed:
    """How many documents were stored, the version that holds them, and the ids of those that were cut to fit."""

    upserted: int
    version: Version
    truncated: Sequence[str]
    tokens: int


class IndexDocuments:
    """Encodes documents and stores them, all or none. A text that is already stored is not encoded again."""

    def __init__(self, collections: Collections, local: HeldCollections, texts: TextEmbedder) -> None:
        self._collections = collections
        self._local = local
        self._texts = texts

    async def __call__(self, name: str, documents: Sequence[Document], *, bulk: bool = False) -> Indexed:
        """Store documents; an id that exists is replaced. With `bulk`, as background work.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest, WriteConflict: see service.errors.
        """
        _require_distinct(documents)
        for _ in range(ATTEMPTS):
            try:
                return await self._store(name, documents, bulk=bulk)
            except Overtaken:  # what was encoded is in the cache: another attempt costs little
                continue
        raise WriteConflict("other writers kept changing the same documents: try again")

    async def collection_and_encoder(self, name: str) -> tuple[Collection, Encoder]:
        """Collection `name` and the model that fills it. Raises UnknownCollection, SpaceMismatch."""
        collection = await self._local.read_truth(lambda store: store.collection(name))
        return collection, await self._collections.encoder_of(collection)

    async def _store(self, name: str, documents: Sequence[Document], *, bulk: bool) -> Indexed:
        """One attempt: look at what is stored, encode what is new, write."""
        ids = [document.id for document in documents]
        collection, encoder = await self.collection_and_encoder(name)
        stored = await self._local.read_truth(lambda store: store.get(name, ids))
        new = [(i, each) for i, each in enumerate(documents) if not _same_text(each, stored.get(each.id))]
        keep_tokens = collection.settings.tokens == "int8"
        tokens, fresh = await self._encode(encoder, new, keep_tokens=keep_tokens, bulk=bulk)
        writes = [Write(document, fresh.get(document.id)) for document in documents]
        version = await self._local.write(name, lambda store: store.upsert(collection, writes))
        truncated = [doc_id for doc_id in ids if (fresh.get(doc_id) or stored[doc_id]).truncated]
        return Indexed(len(documents), version, truncated, tokens)

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

    async def _encode(
        self, encoder: Encoder, new: Sequence[tuple[int, Document]], *, keep_tokens: bool, bulk: bool
    ) -> tuple[int, dict[str, Embedded]]:
        """Tokens spent, and what to store of each document, by id; the number is its place in the request."""
        given = [Given(document.text, f"/documents/{i}/text") for i, document in new]
        want: Want = "tokens" if keep_tokens else "pooled"
        embedded = await self._texts.embed(encoder, given, "document", want, bulk=bulk)
        made = await asyncio.to_thread(
            lambda: [
                _embedded(*each, keep_tokens) for each in zip(embedded.embeddings, embedded.truncated, strict=True)
            ]
        )
        return embedded.tokens, {document.id: each for (_, document), each in zip(new, made, strict=True)}


def _embedded(embeddings: TokenEmbeddings, truncated: bool, keep_tokens: bool) -> Embedded:
    vector = unit_rows(embeddings.pooled()).astype(np.float32)
    codes, error = encode_tokens(embeddings) if keep_tokens else (None, 0.0)
    return Embedded(vector, truncated, codes, error)


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
