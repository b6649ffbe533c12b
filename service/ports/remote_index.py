"""Ports of a remote index, which several replicas search and one of them fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Protocol

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.ports.documents import Collection, Reembedding, VectorChange, Version

EXACT = "exact"  # setting of a collection that is searched exhaustively
MAX_CANDIDATES = 16_384  # of a query: the limit of servers


@dataclass(frozen=True, slots=True)
class RemoteCollection:
    """The vectors of one generation of a collection, as the server keeps them.

    Attributes:
        key: name on the server, which no other epoch or generation has.
        generation: of the embeddings.
        dim: of the vectors.
        exhaustive: whether each search compares all vectors.
    """

    key: str
    generation: str
    dim: int
    exhaustive: bool

    @classmethod
    def of(cls, collection: Collection, next_encoder: Reembedding | None = None) -> RemoteCollection:
        """The vectors of the collection's encoder, or of its next one."""
        made_by = next_encoder or collection.settings
        digest = blake2b(made_by.generation.encode(), digest_size=8).hexdigest()
        key = f"semblance_{collection.version.epoch}_{digest}"
        return cls(key, made_by.generation, made_by.dim, collection.settings.index == EXACT)


class RemoteCandidate(NamedTuple):
    """A document that may be a hit, as it was at a version."""

    id: str
    version: int


class RemoteIndex(Protocol):
    """Vectors of passages on a server: a source of candidates, never of truth. Thread-safe.

    What it returns may be stale, lost or of too many documents, so each candidate is compared with the database.

    Raises, from every method but `reachable` and `close`:
        IndexUnavailable: the server does not respond, or not in time, or has no such collection.
    """

    @property
    def reachable(self) -> bool:
        """Whether the last call succeeded."""

    def ping(self) -> None:
        """Ask the server whether it is there."""

    def create(self, target: RemoteCollection) -> None:
        """Create a collection without vectors, in place of an existing one."""

    def drop(self, key: str) -> None:
        """Delete a collection, if it exists."""

    def apply(self, target: RemoteCollection, changes: Sequence[VectorChange], *, new_until: int = -1) -> None:
        """Store the latest state of some documents; idempotent.

        Changes of versions up to `new_until` are of documents that the collection does not have yet.
        """

    def advance(self, target: RemoteCollection, version: Version) -> None:
        """Record beside the vectors that every change up to `version` was applied."""

    def position(self, target: RemoteCollection) -> Version | None:
        """The version that was recorded last; None if the collection or its record is missing."""

    def count(self, target: RemoteCollection) -> int:
        """Number of passages."""

    def search(
        self, target: RemoteCollection, queries: Floats, limit: int, where: Filter | None
    ) -> list[list[RemoteCandidate]]:
        """The documents of `limit` passages near each of (q, d) queries, or of all that match.

        Some may be there repeatedly. They are as of all changes that were applied before. Where the filter cannot be
        expressed, they are of more documents than match, never of fewer.
        """

    def close(self) -> None:
        """Disconnect."""


@dataclass(frozen=True, slots=True)
class IndexMark:
    """Up to which version the server has acknowledged the changes of a collection.

    Attributes:
        key: of the `RemoteCollection`.
        collection: name of the collection.
        version: every change up to it is on the server.
        complete: whether the first fill has ended, so that searches find all documents.
    """

    key: str
    collection: str
    version: Version
    complete: bool


class IndexMarks(Protocol):
    """The marks, in the database beside the documents. Every method raises StoreUnavailable."""

    def read(self, name: str) -> tuple[Collection, Mapping[str, IndexMark]]:
        """A collection and the marks of its generations at one moment. Raises UnknownCollection."""


class IndexLeadership(Protocol):
    """The right of one process to fill the index, and the marks that it sets. For one thread."""

    def acquire(self) -> bool:
        """Whether this process has the right, after trying to get it."""

    def marks(self) -> dict[str, IndexMark]:
        """All marks by key. Raises StoreUnavailable."""

    def set(self, mark: IndexMark) -> None:
        """Store a mark. Raises StoreUnavailable: also if the right was lost."""

    def remove(self, key: str) -> None:
        """Delete a mark. Raises StoreUnavailable: also if the right was lost."""

    def release(self) -> None:
        """Give up the right."""
