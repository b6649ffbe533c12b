"""From documents to what the store keeps of them beside their texts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import TokenEmbeddings, Want, unit_rows
from semblance.models.measures.quantized_tokens import encode_tokens
from semblance.models.protocols import Encoder
from semblance.service.ports.documents import Embedded, TokenStorage
from semblance.service.usecases.embed_texts import Given, TextEmbedder


@dataclass(frozen=True, slots=True)
class EmbeddedDocuments:
    """What an encoder made of documents, by id, and the tokens that they took together."""

    made: Mapping[str, Embedded]
    tokens: int


class DocumentEmbedder:
    """Encodes documents: a vector at unit length of each, and its token codes where the collection keeps some."""

    def __init__(self, texts: TextEmbedder) -> None:
        self._texts = texts

    async def embed(
        self, encoder: Encoder, given: Mapping[str, Given], tokens: TokenStorage, *, bulk: bool
    ) -> EmbeddedDocuments:
        """What `encoder` makes of texts that are given by the ids of their documents; with `bulk`, as background work.

        Raises:
            InvalidRequest, TooManyTokens, Overloaded: as `TextEmbedder.embed`.
        """
        keep_tokens = tokens == "int8"
        want: Want = "tokens" if keep_tokens else "pooled"
        embedded = await self._texts.embed(encoder, list(given.values()), "document", want, bulk=bulk)

        def kept() -> list[Embedded]:
            pairs = zip(embedded.embeddings, embedded.truncated, strict=True)
            return [_kept(embeddings, truncated, keep_tokens) for embeddings, truncated in pairs]

        made = dict(zip(given, await asyncio.to_thread(kept), strict=True))
        return EmbeddedDocuments(made, embedded.tokens)


def _kept(embeddings: TokenEmbeddings, truncated: bool, keep_tokens: bool) -> Embedded:
    vector = unit_rows(embeddings.pooled()).astype(np.float32)
    codes, error = encode_tokens(embeddings) if keep_tokens else (None, 0.0)
    return Embedded(vector, truncated, codes, error)
