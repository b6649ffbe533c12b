"""The document store on a SQL database, through SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace

from sqlalchemy import Engine, bindparam, delete, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from semblance.service.documents import changes, copies, restoring, rollovers
from semblance.service.documents.contact import Contact
from semblance.service.documents.database import Database
from semblance.service.documents.rows import (
    collection_of,
    collection_row,
    complete_row,
    document_of,
    new_epoch,
    size_of,
    unknown,
)
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import next_version, replace_documents, require_same, update_metadata
from semblance.service.errors import CollectionDiffers, UnknownCollection, UnknownDocument
from semblance.service.ports.documents import (
    NOTHING_YET,
    Change,
    ChangePage,
    Collection,
    CollectionSettings,
    CollectionSize,
    Document,
    Embedded,
    Life,
    Rollover,
    Version,
    WholeChange,
    Write,
)

_THESE = select(*(documents.c[field.name] for field in fields(Document))).where(  # every search asks it
    documents.c.collection == bindparam("of"),
    documents.c.id.in_(bindparam("ids", expanding=True)),
    ~documents.c.deleted,
)


class SqlDocumentStore:
    """Collections, documents, vectors and token codes in one database; `DocumentStore` and `CopyStore` say its laws.

    Every write begins by adding one to the collection's version. That locks the row, so the writers of a collection
    take turns and the order of commits is the order of versions.

    Args:
        engine: of the database; nothing is asked of it yet.
        contact: hears whether it answers.

    Raises, from every method:
        StoreTooNew: the tables are those of a later release.
        StoreUnavailable: the database is a server, and does not answer.
    """

    def __init__(self, engine: Engine, contact: Contact | None = None) -> None:
        self._database = Database(engine, contact)

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        row = {"name": name, "epoch": new_epoch(), "version": 0, **asdict(settings)}
        try:
            with self._database.writing(name) as connection:
                connection.execute(insert(collections).values(row))
                return collection_of(collection_row(connection, name)), True
        except IntegrityError:
            pass
        try:
            found = self.collection(name)
        except UnknownCollection:  # deleted meanwhile
            return self.create(name, settings)
        if found.settings != settings:
            raise _differs(name, found.settings, settings)
        return found, False

    def drop(self, name: str) -> None:
        with self._database.writing(name, long=True) as connection:
            if connection.execute(delete(collections).where(collections.c.name == name)).rowcount == 0:
                raise unknown(name)

    def collection(self, name: str) -> Collection:
        with self._database.reading() as connection:
            return collection_of(collection_row(connection, name))

    def collections(self) -> list[Collection]:
        with self._database.reading() as connection:
            rows = connection.execute(select(collections).order_by(collections.c.name)).mappings()
            return [collection_of(row) for row in rows]

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        with self._database.reading() as connection:
            if names is None:
                there = select(collections).where(collections.c.version != NOTHING_YET)
                rows = connection.execute(there.order_by(collections.c.name)).mappings().all()
            else:
                rows = [complete_row(connection, name) for name in names]
            return [(collection_of(row), size_of(connection, row)) for row in rows]

    def upsert(self, collection: Collection, writes: Sequence[Write]) -> Version:
        with self._database.writing(collection.name) as connection:
            now = next_version(connection, collection.name)
            require_same(collection, now)
            update_metadata(connection, now, [write.document for write in writes if write.embedded is None])
            replace_documents(
                connection, now.name, [_made(write, now) for write in writes if write.embedded is not None]
            )
        return now.version

    def delete(self, name: str, doc_id: str) -> Version:
        with self._database.writing(name) as connection:
            version = next_version(connection, name).version
            gone = (
                update(documents)
                .where(documents.c.collection == name, documents.c.id == doc_id, ~documents.c.deleted)
                .values(deleted=True, text="", metadata={}, version=version.number)
            )
            if connection.execute(gone).rowcount == 0:
                raise UnknownDocument(f"collection {name!r} has no document {doc_id!r}")
            for table in (vectors, token_codes):
                connection.execute(delete(table).where(table.c.collection == name, table.c.id == doc_id))
        return version

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Document]:
        return self.get_at(name, ids)[1]

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        with self._database.reading() as connection:
            collection = collection_of(complete_row(connection, name))
            rows = connection.execute(_THESE, {"of": name, "ids": list(ids)})
            return collection, {row.id: Document(*row) for row in rows}

    def codes(self, name: str, ids: Sequence[str], space: str) -> dict[str, bytes]:
        wanted = select(token_codes.c.id, token_codes.c.codes).where(
            token_codes.c.collection == name, token_codes.c.id.in_(ids), token_codes.c.space == space
        )
        with self._database.reading() as connection:
            return {row.id: row.codes for row in connection.execute(wanted)}

    def scan(self, name: str, after: str, limit: int) -> list[Document]:
        with self._database.reading() as connection:
            complete_row(connection, name)
            page = (
                select(documents)
                .where(documents.c.collection == name, documents.c.id > after, ~documents.c.deleted)
                .order_by(documents.c.id)
                .limit(limit)
            )
            return [document_of(row) for row in connection.execute(page).mappings()]

    def changes_since(
        self, name: str, since: int, cursor: changes.Cursor | None, limit: int, space: str | None = None
    ) -> ChangePage[Change]:
        with self._database.reading() as connection:
            return changes.changes(connection, name, cursor or (since, None), limit, space)

    def whole_changes_since(
        self, name: str, since: int, cursor: changes.Cursor | None, limit: int
    ) -> ChangePage[WholeChange]:
        with self._database.reading() as connection:
            return changes.whole_changes(connection, name, cursor or (since, None), limit)

    def begin_rollover(self, collection: Collection, rollover: Rollover) -> Collection:
        if collection.rollover == rollover:
            return collection
        with self._database.writing(collection.name) as connection:
            now = next_version(connection, collection.name)
            require_same(collection, now)
            return rollovers.begin(connection, now, rollover)

    def unfilled(self, name: str, limit: int) -> tuple[int, list[Document]]:
        with self._database.reading() as connection:
            return rollovers.unfilled(connection, name, limit)

    def fill(self, collection: Collection, embedded: Sequence[tuple[Document, Embedded]]) -> Version:
        with self._database.writing(collection.name) as connection:
            now = next_version(connection, collection.name)
            require_same(collection, now)
            rollovers.fill(connection, now, embedded)
        return now.version

    def switch(self, name: str) -> Version:
        with self._database.writing(name, long=True) as connection:
            now = next_version(connection, name)
            rollovers.switch(connection, now)
        return now.version

    def drop_rollover(self, name: str) -> Collection:
        with self._database.writing(name) as connection:
            if collection_of(collection_row(connection, name)).rollover is not None:
                next_version(connection, name)
                copies.take_rollover(connection, name, None)
            return collection_of(collection_row(connection, name))

    def begin_life(self, collection: Collection) -> None:
        with self._database.writing(collection.name) as connection:
            copies.begin_life(connection, collection)

    def put(self, name: str, changes: Sequence[WholeChange]) -> None:
        with self._database.writing(name) as connection:
            collection_row(connection, name)
            copies.put(connection, name, changes)

    def advance(self, name: str, number: int) -> None:
        with self._database.writing(name) as connection:
            copies.advance(connection, name, number)

    def take_rollover(self, name: str, rollover: Rollover | None) -> None:
        with self._database.writing(name) as connection:
            copies.take_rollover(connection, name, rollover)

    def take_next(self, collection: Collection, number: int) -> None:
        with self._database.writing(collection.name) as connection:
            copies.take_next(connection, collection, number)

    @contextmanager
    def following(self, name: str) -> Iterator[copies.Following]:
        with self._database.writing(name) as connection:
            yield copies.Following(connection, name)

    def replace_all(self, lives: Iterable[Life]) -> None:
        with self._database.writing() as connection:
            self._database.tell(connection, sorted(restoring.replace_all(connection, lives)))

    def damage(self) -> list[str]:
        if self._database.is_server:  # it looks after its files itself
            return []
        try:
            with self._database.reading() as connection:
                found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
                orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        except DBAPIError as error:  # too damaged even to be checked
            return [f"the database cannot be read: {error.orig}"]
        faults = [f"the database is damaged: {fault}" for fault in found if fault != "ok"]
        return faults + [f"a row of {row[0]} belongs to nothing" for row in orphans]

    def close(self) -> None:
        self._database.engine.dispose()


def _made(write: Write, now: Collection) -> tuple[Document, Mapping[str, Embedded]]:
    """The document as it is stored, and what the encoders of the collection made of it, by their spaces."""
    assert write.embedded is not None
    document = replace(write.document, truncated=write.embedded.truncated, version=now.version.number)
    made = {now.settings.space: write.embedded}
    if now.rollover is not None and write.rolled is not None:
        made[now.rollover.space] = write.rolled
    return document, made


def _differs(name: str, found: CollectionSettings, asked: CollectionSettings) -> CollectionDiffers:
    there = ", ".join(
        f"{field} {ours!r}, not {theirs!r}"
        for (field, ours), theirs in zip(asdict(found).items(), asdict(asked).values(), strict=True)
        if ours != theirs
    )
    return CollectionDiffers(f"collection {name!r} exists with {there}: delete it first, or choose another name")
