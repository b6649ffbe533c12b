"""Ports of the document store: reads, writes, copies, maintenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from semblance.models.embeddings import Floats
from semblance.service.ports.documents import (
    ChangePage,
    Collection,
    CollectionContents,
    CollectionSettings,
    CollectionSize,
    Commit,
    Cursor,
    CutDocuments,
    Document,
    DocumentChange,
    DocumentEmbedding,
    PassageKey,
    Reembedding,
    VectorChange,
    Version,
    Write,
)

Require: TypeAlias = Callable[[Mapping[str, Document]], None]
"""Checks the stored documents that a write is about to replace or delete, by id; if it raises, nothing is written."""


class DocumentReader(Protocol):
    """The reads of use cases. A key with limits has a reader of what it reaches."""

    def collection(self, name: str) -> Collection:
        """Get a collection. Raises UnknownCollection."""

    def collections(self) -> list[Collection]:
        """List all collections by name."""

    def aliases(self) -> dict[str, str]:
        """Get the collections of all aliases, by name."""

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        """Get collections and sizes: the named, or all complete ones. Raises UnknownCollection."""

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Document]:
        """Get documents by id; missing ones are left out. Raises UnknownCollection."""

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        """As `get`, with the collection at the version that was read. Raises UnknownCollection."""

    def get_cut(self, name: str, ids: Sequence[str]) -> CutDocuments:
        """As `get_at`, with the spans of the passages. Raises UnknownCollection."""

    def codes(self, name: str, passages: Sequence[PassageKey], generation: str) -> dict[PassageKey, bytes]:
        """Get token codes of passages in a generation; those without codes are left out."""

    def scan(self, name: str, after: str, limit: int) -> tuple[list[Document], bool]:
        """A page of documents with an id above `after`, by id, and whether more follow.

        It has up to `limit` documents, less where texts are long. Raises UnknownCollection.
        """

    def unfilled(self, name: str, limit: int) -> tuple[int, list[Document]]:
        """Count the documents to be embedded by the next encoder, and get the first, by id.

        These are up to `limit`, less where texts are long. Raises UnknownCollection, NoReembedding.
        """


class DocumentWriter(DocumentReader, Protocol):
    """The writes of use cases, and the reads that they are based on.

    Laws: a write is one transaction that commits documents, vectors and the collection's next version together, and
    returns only after it is on disk; versions grow by one in commit order.
    """

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        """Create a collection, or return the existing one; the flag says whether it is new.

        Raises:
            CollectionDiffers: it exists with other settings.
            AliasConflict: an alias has that name.
        """

    def set_alias(self, name: str, collection: str) -> bool:
        """Let an alias lead to a collection from now on, and return whether it is new.

        Raises:
            UnknownCollection: the collection does not exist; an alias does not count.
            AliasConflict: a collection has the name of the alias.
        """

    def drop_alias(self, name: str) -> None:
        """Delete an alias, and leave its collection. Raises UnknownAlias."""

    def upsert(self, collection: Collection, writes: Sequence[Write], require: Require | None = None) -> Version:
        """Store documents in a collection as it was read, all or none.

        `require` is called in the same transaction, before anything is written.

        Raises:
            UnknownCollection: it was deleted.
            CollectionReplaced: it was recreated since, or its encoders have changed.
            TextChanged: a write without embedding whose stored text has changed, or was deleted.
            DocumentChanged: a document changed after its `if_version`.
            VersionMismatch: the collection was never at an `if_version`.
        """

    def delete(
        self, name: str, doc_id: str, if_version: Version | None = None, require: Require | None = None
    ) -> Version:
        """Delete a document; with `if_version` and `require` as `upsert`.

        Raises UnknownCollection, UnknownDocument, DocumentChanged, VersionMismatch.
        """

    def delete_many(self, name: str, ids: Sequence[str], unchanged_since: Version | None = None) -> tuple[Version, int]:
        """Delete documents, and return how many there were; missing ones are left out.

        With `unchanged_since`, those that changed after that version are left out too.

        Raises:
            UnknownCollection: it was deleted.
            CollectionReplaced: it was recreated after `unchanged_since`.
        """

    def begin_reembedding(self, collection: Collection, reembedding: Reembedding) -> Collection:
        """Begin to re-embed a collection, as it was read, under another encoder; idempotent.

        Raises:
            UnknownCollection, CollectionReplaced: as `upsert`.
            ReembeddingDiffers: it is being re-embedded under another encoder.
        """

    def fill(self, collection: Collection, embedded: Sequence[tuple[Document, DocumentEmbedding]]) -> Version:
        """Store embeddings by the next encoder; documents changed since the read are skipped.

        Raises UnknownCollection, CollectionReplaced.
        """

    def drop_reembedding(self, name: str) -> Collection:
        """Delete the embeddings by the next encoder, if there is one. Raises UnknownCollection."""

    def set_glossary(self, name: str, glossary: str) -> Collection:
        """Replace the glossary of a collection. Raises UnknownCollection."""


class DocumentStore(DocumentWriter, Protocol):
    """The source of truth, with what indexes and copies need.

    Its methods block: call them off the event loop.
    """

    @property
    def writable(self) -> bool:
        """Whether the last write met no failure of the disk."""

    def drop(self, name: str) -> None:
        """Delete a collection with documents and aliases. Raises UnknownCollection, AliasConflict."""

    def collections_and_aliases(self) -> tuple[list[Collection], dict[str, str]]:
        """List all collections by name, and the collections of all aliases, at one moment."""

    def resolve(self, name: str) -> str:
        """Get the collection to which an alias leads; any other name is returned as it is."""

    def switch(self, name: str) -> Version:
        """Make the next encoder the collection's own, and delete the embeddings by the former one.

        Raises:
            UnknownCollection, NoReembedding: the collection is not being re-embedded.
            ReembeddingUnfinished: it has not embedded every document.
        """

    def has_version(self, name: str, version: Version) -> bool:
        """Whether the collection was once at that version; also true if that is no longer known.

        Raises UnknownCollection.
        """

    def vectors(self, name: str, ids: Sequence[str], generation: str) -> dict[str, Floats]:
        """Get (p, d) vectors of a generation by document id; missing documents are left out."""

    def vector_changes(
        self, name: str, since: Version, cursor: Cursor | None, limit: int, generation: str | None = None
    ) -> ChangePage[VectorChange]:
        """Read up to `limit` documents changed after version `since`, or from `cursor` on.

        A page has less than `limit` where texts are long. The vectors are those of `generation`, by default the
        collection's own.

        Raises:
            UnknownCollection: it was deleted.
            VersionMismatch: it was recreated since.
            HistoryLost: it was never at `since`, or no longer has the state in which the page before was read.
        """

    def vector_states(
        self, name: str, ids: Sequence[str], generation: str
    ) -> tuple[Collection, dict[str, VectorChange]]:
        """Get documents with vectors of a generation, without texts; others are left out.

        The collection is as it was at the same moment. Raises UnknownCollection.
        """

    def document_changes(
        self, name: str, since: Version, cursor: Cursor | None, limit: int
    ) -> ChangePage[DocumentChange]:
        """As `vector_changes`, with all that a copy of the store needs."""

    def close(self) -> None:
        """Release the files."""


class MaintainedStore(DocumentStore, Protocol):
    """A store that can be verified, and restored from a backup."""

    def replace_all(self, contents: Iterable[CollectionContents], aliases: Mapping[str, str]) -> None:
        """Replace all collections and aliases, all or nothing.

        Versions keep their numbers, epochs are new.
        """

    def damaged_rows(self, name: str) -> list[str]:
        """Read all of a collection; describe each part whose bytes are not as written."""

    def integrity_errors(self) -> list[str]:
        """Check the database files; a list of messages, empty if they are sound."""


class CopyStore(DocumentStore, Protocol):
    """A store that is filled from another one, with the same epochs and versions."""

    def begin_epoch(self, collection: Collection) -> None:
        """Replace a collection by an empty one, at `INCOMPLETE_VERSION` until it is advanced."""

    def replace_aliases(self, wanted: Mapping[str, str]) -> None:
        """Replace all aliases by those whose collections exist."""

    def put(self, name: str, changes: Sequence[DocumentChange]) -> None:
        """Store the latest state of some documents. Raises UnknownCollection."""

    def advance(self, name: str, version: Version, commits: Sequence[Commit]) -> None:
        """Record that every change up to `version` is stored. Raises UnknownCollection."""

    def apply(self, name: str, pages: Iterable[ChangePage[DocumentChange]]) -> None:
        """Store pages of changes and their version in one transaction. Raises UnknownCollection."""

    def set_reembedding(self, name: str, reembedding: Reembedding | None) -> None:
        """Set the next encoder, and delete embeddings by others. Raises UnknownCollection."""

    def copy_glossary(self, name: str, glossary: str) -> None:
        """As `set_glossary`, at the same version. Raises UnknownCollection."""

    def set_encoders(self, collection: Collection, version: Version, commits: Sequence[Commit]) -> None:
        """Set the encoders to those of `collection`, and advance; delete other embeddings.

        Raises UnknownCollection.
        """
