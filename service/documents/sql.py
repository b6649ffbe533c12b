"""Document store on a SQL database, through SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from semblance.models.embeddings import Floats
from semblance.service.documents import changes, copies, history, reembeddings, row_digests
from semblance.service.documents.aliases import StoredAliases, not_a_collection, require_no_alias
from semblance.service.documents.database import Database, DatabaseHealth
from semblance.service.documents.databases.disk_reserve import DiskReserve
from semblance.service.documents.rows import (
    collection_size,
    documents_at,
    new_epoch,
    read_page,
    select_codes,
    select_collection,
    select_complete_collection,
    select_documents,
    select_spans,
    select_vectors,
    to_collection,
    to_document,
)
from semblance.service.documents.schema import collections, documents
from semblance.service.documents.writes import (
    embedded,
    increment_version,
    mark_deleted,
    replace_documents,
    require_same_encoders,
    require_unchanged,
    settings_differ,
    update_metadata,
)
from semblance.service.errors import CollectionReplaced, UnknownCollection
from semblance.service.ports.document_store import Require
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
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
    unknown_document,
)


class SqlDocumentStore(StoredAliases):
    """`DocumentStore` and `CopyStore` in one SQL database.

    Every write first increments the collection's version. That locks its row, so writers of a collection take turns,
    and the order of commits is the order of versions.

    Args:
        engine: of the database; not used before the first call.
        health: records whether the database is reachable.
        on_damage: called when a part of the database turns out to be damaged, in any thread.
        reserve: space for deletions while the disk of a SQLite file is full.

    Raises, from every method:
        StoreTooNew: the tables are those of a later release.
        StoreUnavailable, StoreFull, StoreFailed, StoreDamaged: see semblance.service.errors.
    """

    def __init__(
        self,
        engine: Engine,
        health: DatabaseHealth | None = None,
        on_damage: Callable[[], None] = lambda: None,
        reserve: DiskReserve | None = None,
    ) -> None:
        self._database = Database(engine, health, on_damage, reserve)

    @property
    def writable(self) -> bool:
        """Whether the last write met no failure of the disk."""
        return self._database.writable

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        row = {"name": name, "epoch": new_epoch(), "version": 0, "last_commit": "", **asdict(settings)}
        try:
            with self._database.writing(name) as connection:
                connection.execute(insert(collections).values(row))
                require_no_alias(connection, name)
                return to_collection(select_collection(connection, name)), True
        except IntegrityError:
            pass
        try:
            existing = self.collection(name)
        except UnknownCollection:  # deleted meanwhile
            return self.create(name, settings)
        if existing.settings != settings:
            raise settings_differ(name, existing.settings, settings)
        return existing, False

    def drop(self, name: str) -> None:
        with self._database.deleting(name, long=True) as connection:
            if connection.execute(delete(collections).where(collections.c.name == name)).rowcount == 0:
                raise not_a_collection(connection, name)

    def collection(self, name: str) -> Collection:
        with self._database.reading() as connection:
            return to_collection(select_collection(connection, name))

    def collections(self) -> list[Collection]:
        return self.collections_and_aliases()[0]

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        with self._database.reading() as connection:
            if names is None:
                complete = select(collections).where(collections.c.version != INCOMPLETE_VERSION)
                rows = connection.execute(complete.order_by(collections.c.name)).mappings().all()
            else:
                rows = [select_complete_collection(connection, name) for name in names]
            return [(to_collection(row), collection_size(connection, row)) for row in rows]

    def upsert(self, collection: Collection, writes: Sequence[Write], require: Require | None = None) -> Version:
        with self._database.writing(collection.name) as connection:
            current = increment_version(connection, collection.name)
            require_same_encoders(collection, current)
            if require is not None:
                require(select_documents(connection, current.name, [write.document.id for write in writes]))
            require_unchanged(connection, current, {write.document.id: write.if_version for write in writes})
            update_metadata(connection, current, [write.document for write in writes if write.embedding is None])
            replace_documents(
                connection, current.name, [embedded(write, current) for write in writes if write.embedding is not None]
            )
        return current.version

    def delete(
        self, name: str, doc_id: str, if_version: Version | None = None, require: Require | None = None
    ) -> Version:
        with self._database.deleting(name) as connection:
            current = increment_version(connection, name)
            if require is not None:
                require(select_documents(connection, name, [doc_id]))
            require_unchanged(connection, current, {doc_id: if_version})
            if not mark_deleted(connection, current, [doc_id]):
                raise unknown_document(name, doc_id)
        return current.version

    def delete_many(self, name: str, ids: Sequence[str], unchanged_since: Version | None = None) -> tuple[Version, int]:
        with self._database.deleting(name, long=True) as connection:
            current = increment_version(connection, name)
            if unchanged_since is not None and unchanged_since.epoch != current.version.epoch:
                raise CollectionReplaced
            return current.version, mark_deleted(connection, current, ids, unchanged_since)

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Document]:
        return self.get_at(name, ids)[1]

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        with self._database.reading() as connection:
            collection = to_collection(select_complete_collection(connection, name))
            return collection, documents_at(connection, collection, ids)

    def get_cut(self, name: str, ids: Sequence[str]) -> CutDocuments:
        with self._database.reading() as connection:
            collection = to_collection(select_complete_collection(connection, name))
            found = documents_at(connection, collection, ids)
            return CutDocuments(collection, found, select_spans(connection, collection, ids))

    def codes(self, name: str, passages: Sequence[PassageKey], generation: str) -> dict[PassageKey, bytes]:
        with self._database.reading() as connection:
            return select_codes(connection, name, passages, generation)

    def vectors(self, name: str, ids: Sequence[str], generation: str) -> dict[str, Floats]:
        with self._database.reading() as connection:
            return select_vectors(connection, name, ids, generation)

    def scan(self, name: str, after: str, limit: int) -> tuple[list[Document], bool]:
        with self._database.reading() as connection:
            select_complete_collection(connection, name)
            in_order = (
                select(documents)
                .where(documents.c.collection == name, documents.c.id > after, ~documents.c.deleted)
                .order_by(documents.c.id)
            )
            page, following = read_page(connection, in_order, limit)
            return [to_document(row) for row in page], following is not None

    def has_version(self, name: str, version: Version) -> bool:
        with self._database.reading() as connection:
            return history.had(connection, to_collection(select_collection(connection, name)), version)

    def vector_changes(
        self, name: str, since: Version, cursor: Cursor | None, limit: int, generation: str | None = None
    ) -> ChangePage[VectorChange]:
        with self._database.reading() as connection:
            return changes.vector_changes(connection, name, since, cursor, limit, generation)

    def vector_states(
        self, name: str, ids: Sequence[str], generation: str
    ) -> tuple[Collection, dict[str, VectorChange]]:
        with self._database.reading() as connection:
            return changes.vector_states(connection, name, ids, generation)

    def document_changes(
        self, name: str, since: Version, cursor: Cursor | None, limit: int
    ) -> ChangePage[DocumentChange]:
        with self._database.reading() as connection:
            return changes.document_changes(connection, name, since, cursor, limit)

    def begin_reembedding(self, collection: Collection, reembedding: Reembedding) -> Collection:
        if collection.reembedding == reembedding:
            return collection
        with self._database.writing(collection.name) as connection:
            current = increment_version(connection, collection.name)
            require_same_encoders(collection, current)
            return reembeddings.begin(connection, current, reembedding)

    def unfilled(self, name: str, limit: int) -> tuple[int, list[Document]]:
        with self._database.reading() as connection:
            return reembeddings.unfilled(connection, name, limit)

    def fill(self, collection: Collection, embedded: Sequence[tuple[Document, DocumentEmbedding]]) -> Version:
        with self._database.writing(collection.name) as connection:
            current = increment_version(connection, collection.name)
            require_same_encoders(collection, current)
            reembeddings.fill(connection, current, embedded)
        return current.version

    def switch(self, name: str) -> Version:
        with self._database.writing(name, long=True) as connection:
            current = increment_version(connection, name)
            reembeddings.switch(connection, current)
        return current.version

    def drop_reembedding(self, name: str) -> Collection:
        with self._database.writing(name) as connection:
            if to_collection(select_collection(connection, name)).reembedding is not None:
                increment_version(connection, name)
                copies.set_reembedding(connection, name, None)
            return to_collection(select_collection(connection, name))

    def set_glossary(self, name: str, glossary: str) -> Collection:
        with self._database.writing(name) as connection:
            increment_version(connection, name)
            copies.set_glossary(connection, name, glossary)
            return to_collection(select_collection(connection, name))

    def copy_glossary(self, name: str, glossary: str) -> None:
        with self._database.writing(name) as connection:
            copies.set_glossary(connection, name, glossary)

    def begin_epoch(self, collection: Collection) -> None:
        with self._database.writing(collection.name) as connection:
            copies.begin_epoch(connection, collection)

    def put(self, name: str, changes: Sequence[DocumentChange]) -> None:
        with self._database.writing(name) as connection:
            select_collection(connection, name)
            copies.put(connection, name, changes)

    def advance(self, name: str, version: Version, commits: Sequence[Commit]) -> None:
        with self._database.writing(name) as connection:
            copies.advance(connection, name, version, commits)

    def set_reembedding(self, name: str, reembedding: Reembedding | None) -> None:
        with self._database.writing(name) as connection:
            copies.set_reembedding(connection, name, reembedding)

    def set_encoders(self, collection: Collection, version: Version, commits: Sequence[Commit]) -> None:
        with self._database.writing(collection.name) as connection:
            copies.set_encoders(connection, collection, version, commits)

    def apply(self, name: str, pages: Iterable[ChangePage[DocumentChange]]) -> None:
        with self._database.writing(name) as connection:
            copies.apply(connection, name, pages)

    def replace_all(self, contents: Iterable[CollectionContents], aliases: Mapping[str, str]) -> None:
        with self._database.writing() as connection:
            self._database.notify(connection, sorted(copies.replace_all(connection, contents, aliases)))

    def damaged_rows(self, name: str) -> list[str]:
        with self._database.reading() as connection:
            return list(row_digests.damaged_rows(connection, name))

    def integrity_errors(self) -> list[str]:
        return self._database.integrity_errors()

    def close(self) -> None:
        self._database.engine.dispose()
