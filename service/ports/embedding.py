"""Ports of encoding: served models, queue of the model thread, cache of embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder, Reranker
from semblance.models.text import Role, TokenizedText, Truncate

# Reasons for a cache miss: no entry; a damaged entry; the entry of another key; no answer in time; no connection; the
# cache is skipped for a while after repeated failures.
Miss: TypeAlias = Literal["absent", "corrupt", "swapped", "timeout", "unreachable", "resting"]

Urgency: TypeAlias = Literal["interactive", "bulk"]  # priority of queued texts; bulk is background work


class EmbeddingCache(Protocol):
    """Cache of embeddings. It may evict at any time; it never fails a request.

    Law: the vectors returned for a key are those that were set for it, to the bit. The text may be missing.
    """

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """Get the embeddings of each key, or the reason for the miss."""

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Store embeddings by key."""

    async def ping(self) -> bool:
        """Whether it is reachable."""

    async def close(self) -> None:
        """Release its connections."""


class Embedder(Protocol):
    """Queue of the thread that owns the models; nothing else calls a network.

    Attributes:
        max_request_tokens: most tokens of a call of `encode` that is not background work.
    """

    max_request_tokens: int

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokenize texts off the event loop. Raises BadTexts."""

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        """Embed texts, in order; with `bulk`, as background work. Raises TooManyTokens, Overloaded."""


class ModelChoice(NamedTuple):
    """The model and the measure that a name asks for; None for the default and the route's."""

    model: str | None
    measure: str | None = None


class ServedModels(Protocol):
    """The models that this process serves."""

    async def get(self, name: str | None) -> Encoder:
        """Get a model by name or alias, or the default one. Raises UnknownModel, ModelLoading."""


class ModelChoices(ServedModels, Protocol):
    """Served models whose names may also ask for a measure."""

    def resolve(self, name: str | None) -> ModelChoice:
        """Resolve the name of a model, an alias, or `model@measure`; the model may be unknown."""


class ServedRerankers(Protocol):
    """The rerankers that this process serves."""

    @property
    def names(self) -> Sequence[str]:
        """Their names and aliases."""

    async def get(self, name: str) -> Reranker:
        """Get a reranker by name or alias. Raises UnknownModel, ModelLoading."""
