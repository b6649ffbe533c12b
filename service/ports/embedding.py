"""Ports of encoding: the served models, the queue of the model thread, and the cache of embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate

# Why a cache has no embedding for a key: it knows none; it holds something damaged, or the value of another key; it did
# not answer in time, or not at all; or it is left alone for a while because it failed again and again.
Miss: TypeAlias = Literal["absent", "corrupt", "swapped", "timeout", "unreachable", "resting"]

Urgency: TypeAlias = Literal["interactive", "bulk"]  # of what waits for the model; bulk is background work


class EmbeddingCache(Protocol):
    """Embeddings by key. It may forget at any time; it never fails a request.

    Law: what it returns for a key has the vectors that were set for that key, to the bit. It may lack the text.
    """

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """What is known of each key, or why nothing is."""

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Remember these."""

    async def ping(self) -> bool:
        """Whether it answers."""

    async def close(self) -> None:
        """Let go of connections."""


class Embedder(Protocol):
    """The way to the thread that owns the models; nothing else touches a network."""

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text, off the event loop. Raises BadTexts."""

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        """Embeddings of each text, in order; with `bulk`, in the background. Raises TooManyTokens, Overloaded."""


class ServedModels(Protocol):
    """The models that this process serves."""

    async def get(self, name: str | None) -> Encoder:
        """The model of that name, or the default one; loads it on first use. Raises UnknownModel, ModelLoading."""
