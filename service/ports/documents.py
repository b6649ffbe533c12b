"""Ports of the document store: collections, their documents and versions, and what follows their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from semblance.models.embeddings import Floats

Metadata: TypeAlias = Mapping[str, Any]

TokenStorage: TypeAlias = Literal["int8", "none"]

NOTHING_YET = -1  # number of the version of a copy that was never complete


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a collection: the life of it (`epoch`), and how many writes that life has seen.

    >>> str(Version.parse("5f3a:17"))
    '5f3a:17'
    """

    epoch: str
    number: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Inverse of str().

        Raises:
            ValueError: it is not of the form `epoch:version`.
        """
        epoch, colon, number = text.rpartition(":")
        if not colon or not epoch or not number.isascii() or not number.isdigit() or len(number) > 18:
            raise ValueError("a version looks like 5f3a9c:17, as an earlier answer gave it")
        return cls(epoch, int(number))

    def __str__(self) -> str:
        return f"{self.epoch}:{self.number}"


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """What a collection is created with. `space` is the digest of the encoder that fills it."""

    model: str
    space: str
    dim: int
    measure: str
    index: str
    tokens: TokenStorage


@dataclass(frozen=True, slots=True)
class Rollover:
    """The encoder that a collection is being re-embedded under: its name, its space, and the length of its vectors."""

    model: str
    space: str
    dim: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection as it stands."""

    name: str
    version: Version
    settings: CollectionSettings
    rollover: Rollover | None = None

    def rolled_over(self) -> Collection:
        """The same collection as it is once the roll-over is switched to."""
        assert self.rollover is not None
        return replace(self, settings=replace(self.settings, **asdict(self.rollover)), rollover=None)


@dataclass(frozen=True, slots=True)
class CollectionSize:
    """How much a collection holds: bytes are those of vectors and token codes, a document on average.

    `token_error` bounds how far a cosine with a stored token can be from the exact one; None without token codes.
    `unfilled` documents are not yet embedded by the next encoder, if there is one.
    """

    documents: int
    bytes_per_document: float
    token_error: float | None
    unfilled: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """What a user stores under an `id` that is unique in the collection.

    A stored one also says whether the encoder took only part of the text, and which version of the collection wrote it.
    """

    id: str
    text: str
    metadata: Metadata
    truncated: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """What an encoder made of a document's text: its (d,) vector at unit length and, where kept, its token codes."""

    vector: Floats
    truncated: bool
    codes: bytes | None = None
    code_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Write:
    """A document to store. Without `embedded`, its text must be the one already stored: only metadata changes.

    While the collection is rolled over, `rolled` is what the next encoder makes of the text.
    """

    document: Document
    embedded: Embedded | None
    rolled: Embedded | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """The latest state of one document, as an index needs it: (d,) vector and metadata; neither if it is deleted."""

    id: str
    version: int
    vector: Floats | None
    metadata: Metadata


@dataclass(frozen=True, slots=True, eq=False)
class WholeChange:
    """The latest state of one document, as a copy of the store needs it: what encoders made of it is by their spaces.

    Nothing is, once the document is deleted.
    """

    document: Document
    deleted: bool
    embedded: Mapping[str, Embedded]


@dataclass(frozen=True, slots=True)
class Life:
    """A collection with everything in it, in pages of one version and the next."""

    collection: Collection
    pages: Iterator[Sequence[WholeChange]]


AnyChange = TypeVar("AnyChange", Change, WholeChange)

Applied_contra = TypeVar("Applied_contra", Change, WholeChange, contravariant=True)


@dataclass(frozen=True, slots=True)
class ChangePage(Generic[AnyChange]):
    """Some changes in the order of (version, id).

    `collection` is how it stood when they were read, `complete` the version up to which nothing is missing after this
    page, and `cursor` where the next page starts, None after the last one.
    """

    collection: Collection
    changes: Sequence[AnyChange]
    complete: int
    cursor: tuple[int, str] | None


class Follower(Protocol[Applied_contra]):
    """What follows the changes of a collection: an index, or a copy of the store."""

    @property
    def version(self) -> Version:
        """The state of the store that it has seen completely."""

    def apply(self, changes: Sequence[Applied_contra]) -> None:
        """Take over the latest state of some documents."""

    def advance(self, version: Version) -> None:
        """Note that every change up to `version` was applied."""


class DocumentStore(Protocol):
    """The source of truth. Its methods block: call them off the event loop.

    Laws: a write is one transaction that commits documents, vectors and the collection's next version together, and
    returns only after it is on disk; versions grow by one in commit order.
    """

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        """Create a collection, or return the one there is; the flag says whether it is new.

        Raises:
            CollectionDiffers: it exists with other settings.
        """

    def drop(self, name: str) -> None:
        """Delete a collection and all it holds. Raises UnknownCollection."""

    def collection(self, name: str) -> Collection:
        """Raises UnknownCollection."""

    def collections(self) -> list[Collection]:
        """All of them, by name."""

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        """Collections and how much each holds: those named, in that order, or all by name. Raises UnknownCollection."""

    def upsert(self, collection: Collection, writes: Sequence[Write]) -> Version:
        """Store documents in a collection as it was found, all or none.

        Raises:
            UnknownCollection: it is gone.
            CollectionReplaced: it was made anew since, or another encoder is to fill it.
            TextChanged: a write without vector whose stored text is another by now, or gone.
        """

    def delete(self, name: str, doc_id: str) -> Version:
        """Delete a document. Raises UnknownCollection, UnknownDocument."""

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Document]:
        """Those of the documents that exist, by id. Raises UnknownCollection."""

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        """As `get`, with the collection that has them so. Raises UnknownCollection."""

    def codes(self, name: str, ids: Sequence[str], space: str) -> dict[str, bytes]:
        """Token codes of a space, of those documents that have some, by id."""

    def scan(self, name: str, after: str, limit: int) -> list[Document]:
        """Up to `limit` documents with an id above `after`, by id. Raises UnknownCollection."""

    def changes_since(
        self, name: str, since: int, cursor: tuple[int, str] | None, limit: int, space: str | None = None
    ) -> ChangePage[Change]:
        """Up to `limit` documents changed after version `since`, or from `cursor` on. Raises UnknownCollection.

        The vectors are those of the collection's own space, or of another that is named.
        """

    def whole_changes_since(
        self, name: str, since: int, cursor: tuple[int, str] | None, limit: int
    ) -> ChangePage[WholeChange]:
        """The same, with everything that a copy of the store needs. Raises UnknownCollection."""

    def begin_rollover(self, collection: Collection, rollover: Rollover) -> Collection:
        """Have a collection, as it was found, re-embedded under another encoder; the same again changes nothing.

        Raises:
            UnknownCollection, CollectionReplaced: as `upsert`.
            RolloverDiffers: it is being re-embedded under yet another.
        """

    def unfilled(self, name: str, limit: int) -> tuple[int, list[Document]]:
        """How many documents the next encoder has not embedded, and up to `limit` of them, by id.

        Raises UnknownCollection, NoRollover.
        """

    def fill(self, collection: Collection, embedded: Sequence[tuple[Document, Embedded]]) -> Version:
        """Store what the next encoder made of documents; those that changed since they were read are left out.

        Raises UnknownCollection, CollectionReplaced.
        """

    def switch(self, name: str) -> Version:
        """Let the next encoder be the collection's own, and forget what the former one made.

        Raises:
            UnknownCollection, NoRollover: there is none, or nothing to switch to.
            RolloverUnfinished: it has not embedded every document.
        """

    def drop_rollover(self, name: str) -> Collection:
        """Forget what the next encoder made; nothing changes if there is none. Raises UnknownCollection."""

    def replace_all(self, lives: Iterable[Life]) -> None:
        """Hold these collections and no others, all or nothing: with their versions, and each under a new epoch."""

    def damage(self) -> list[str]:
        """What is wrong with the files of the database itself, in words; nothing if they are sound."""

    def close(self) -> None:
        """Release the files."""


class CopyStore(DocumentStore, Protocol):
    """A store that is filled from another one, with the same epochs and versions."""

    def begin_life(self, collection: Collection) -> None:
        """Hold nothing of a collection but that it is there, in place of a former life of it.

        Its version is `NOTHING_YET` until it is advanced.
        """

    def put(self, name: str, changes: Sequence[WholeChange]) -> None:
        """Take over the latest state of some documents. Raises UnknownCollection."""

    def advance(self, name: str, number: int) -> None:
        """Note that every change up to version `number` was put. Raises UnknownCollection."""

    def following(self, name: str) -> AbstractContextManager[Follower[WholeChange]]:
        """Follows a collection so that all it takes over is seen at once, when the block ends; nothing if it fails.

        Raises UnknownCollection.
        """

    def take_rollover(self, name: str, rollover: Rollover | None) -> None:
        """Note the next encoder, and forget what others made of the documents. Raises UnknownCollection."""

    def take_next(self, collection: Collection, number: int) -> None:
        """Let the encoders of a collection be those that it is given with, at version `number`.

        What others made of the documents is forgotten. Raises UnknownCollection.
        """
