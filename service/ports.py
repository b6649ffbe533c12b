"""What the use cases need from the outside world; adapters in the folders beside this file provide it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from pyroaring import BitMap

from models.embeddings import Floats, TokenEmbeddings, Want
from models.protocols import Encoder
from models.text import Role, TokenizedText, Truncate
from service.filters import Filter
from service.index_device import ON_CPU, Device

Metadata: TypeAlias = Mapping[str, Any]
TokenStorage: TypeAlias = Literal["int8", "none"]

# Why a cache has no embedding for a key: it knows none; it holds something damaged, or the value of another key; it did
# not answer in time, or not at all; or it is left alone for a while because it failed again and again.
Miss: TypeAlias = Literal["absent", "corrupt", "swapped", "timeout", "unreachable", "resting"]

Urgency: TypeAlias = Literal["interactive", "bulk"]  # of what waits for the model; bulk is background work

ENGINES = "service.indexes.engines"  # the family in the catalogue of those who make VectorRows
NOTHING_YET = -1  # number of the version of a copy that was never complete
AUTO = "auto"  # the index of a collection whose engine goes by the number of its documents


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


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found, and how alike it is: higher is more alike."""

    id: str
    score: float


class VectorIndex(Protocol):
    """Vectors of one collection, by similarity. Derived from the store and rebuildable, never authoritative.

    Safe to call from several threads.
    """

    @property
    def version(self) -> Version:
        """The state of the store that it has seen completely; number 0 when new."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Take over the latest state of some documents."""

    def advance(self, version: Version) -> None:
        """Note that every change up to `version` was applied."""

    def search(self, queries: Floats, k: int, where: Filter | None) -> tuple[Version, list[list[Hit]]]:
        """The k most similar documents for each of (q, d) unit queries, among those that match; best first.

        Fewer than k only where fewer match. Equal scores come in the order of ids; which of equals are among the k at
        its end is not defined. The version is that of the state that was searched; of many queries, some may have seen
        changes after it.
        """

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """(d,) vectors of those documents that it holds, by id."""

    def __len__(self) -> int:
        """Documents it holds."""

    @property
    def rows(self) -> int:
        """Rows it takes, those of replaced and deleted documents included."""

    @property
    def outgrown(self) -> bool:
        """Whether it should be built anew: for so many documents another engine is better, or too many rows are dead.

        Never true of an index just built for the documents it holds, nor after a few changes more.
        """


class VectorRows(Protocol):
    """Unit vectors under growing row numbers, from 0: the part of an index that engines differ in.

    Searches and reads may go on side by side, but none beside an addition.
    """

    name: ClassVar[str]
    """That of its file in the catalogue."""

    exact: ClassVar[bool]
    """Whether search finds the nearest whatever is allowed; an approximate engine may miss some."""

    suffix: ClassVar[str]
    """What its files end in."""

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        """Empty; about `expected` rows are going to be added before anybody waits for it."""

    def outgrown(self, count: int) -> bool:
        """Whether one made for `count` rows would search better."""

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, up to k of the `allowed` rows, most similar first."""

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""

    def save(self, file: Path) -> None:
        """Write everything to `file`."""

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """What `save` wrote. Raises OSError, ValueError, RuntimeError: it is something else."""

    def __len__(self) -> int:
        """Rows so far, allowed or not."""


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


@dataclass(frozen=True, slots=True)
class IndexState:
    """How an index stands beside its collection: rows it takes, and versions that it has not seen yet."""

    collection: Collection
    size: CollectionSize
    rows: int
    lag: int


class Indexes(Protocol):
    """Makes the indexes of collections, and keeps snapshots of them on disk so that a start need not build them anew.

    Not for two threads at once with the same collection. A snapshot is never authoritative.
    """

    def new(self, collection: Collection, documents: int) -> VectorIndex:
        """An empty index for a collection that holds about so many documents."""

    def load(self, collection: Collection) -> VectorIndex | None:
        """The snapshot of a collection's index, of now or before; None, and the log says why, if none is of use."""

    def discard(self, name: str) -> None:
        """Remove the snapshot of a collection, so that it is never loaded again. Raises OSError."""

    def save(self, collection: Collection, index: VectorIndex) -> None:
        """Keep a snapshot. Raises OSError, RuntimeError: it could not be written; the one before is still there."""

    def keep_only(self, names: Sequence[str]) -> None:
        """Remove the snapshots of other collections."""
