"""The document store on a SQL database, through SQLAlchemy Core."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from service.documents.schema import collections, documents, metadata, token_codes, vectors
from service.errors import CollectionDiffers, CollectionReplaced, TextChanged, UnknownCollection, UnknownDocument
from service.ports import (
    Change,
    ChangePage,
    Collection,
    CollectionSettings,
    CollectionSize,
    Document,
    Version,
    Write,
)


class SqlDocumentStore:
    """Collections, documents, vectors and token codes in one database; see `DocumentStore` for its laws.

    Every write begins by adding one to the collection's version. That locks the row, so the writers of a collection
    take turns and the order of commits is the order of versions.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        metadata.create_all(engine)

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        row = {"name": name, "epoch": secrets.token_hex(6), "version": 0, **asdict(settings)}
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(collections).values(row))
        except IntegrityError:
            found = self.collection(name)
            if found.settings != settings:
                there = ", ".join(
                    f"{name_} {ours!r}, not {asked!r}"
                    for name_, ours, asked in zip(
                        asdict(settings), asdict(found.settings).values(), asdict(settings).values(), strict=True
                    )
                    if ours != asked
                )
                raise CollectionDiffers(
                    f"collection {name!r} exists with {there}: delete it first, or choose another name"
                ) from None
            return found, False
        return self.collection(name), True

    def drop(self, name: str) -> None:
        with self._engine.begin() as connection:
            if connection.execute(delete(collections).where(collections.c.name == name)).rowcount == 0:
                raise _unknown(name)

    def collection(self, name: str) -> Collection:
        with self._engine.connect() as connection:
            return _collection(_collection_row(connection, name))

    def collections(self) -> list[Collection]:
        with self._engine.connect() as connection:
            rows = connection.execute(select(collections).order_by(collections.c.name)).mappings()
            return [_collection(row) for row in rows]

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        with self._engine.connect() as connection:
            if names is None:
                rows = connection.execute(select(collections).order_by(collections.c.name)).mappings().all()
            else:
                rows = [_collection_row(connection, name) for name in names]
            return [(_collection(row), _size(connection, row)) for row in rows]

    def upsert(self, collection: Collection, writes: Sequence[Write]) -> Version:
        name, space = collection.name, collection.settings.space
        with self._engine.begin() as connection:
            version = _next_version(connection, name)
            if version.epoch != collection.version.epoch:
                raise CollectionReplaced
            _update_metadata(connection, name, version, [write.document for write in writes if write.embedded is None])
            _replace(connection, name, space, version, [write for write in writes if write.embedded is not None])
        return version

    def delete(self, name: str, doc_id: str) -> Version:
        with self._engine.begin() as connection:
            version = _next_version(connection, name)
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

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Version, dict[str, Document]]:
        with self._engine.connect() as connection:
            version = _collection(_collection_row(connection, name)).version
            wanted = select(documents).where(
                documents.c.collection == name, documents.c.id.in_(ids), ~documents.c.deleted
            )
            return version, {row["id"]: _document(row) for row in connection.execute(wanted).mappings()}

    def codes(self, name: str, ids: Sequence[str]) -> dict[str, bytes]:
        wanted = (
            select(token_codes.c.id, token_codes.c.codes)
            .join(collections, collections.c.name == token_codes.c.collection)
            .where(
                token_codes.c.collection == name, token_codes.c.id.in_(ids), token_codes.c.space == collections.c.space
            )
        )
        with self._engine.connect() as connection:
            return {row.id: row.codes for row in connection.execute(wanted)}

    def scan(self, name: str, after: str, limit: int) -> list[Document]:
        with self._engine.connect() as connection:
            _collection_row(connection, name)
            page = (
                select(documents)
                .where(documents.c.collection == name, documents.c.id > after, ~documents.c.deleted)
                .order_by(documents.c.id)
                .limit(limit)
            )
            return [_document(row) for row in connection.execute(page).mappings()]

    def changes_since(self, name: str, since: int, cursor: tuple[int, str] | None, limit: int) -> ChangePage:
        with self._engine.connect() as connection:
            collection = _collection_row(connection, name)
            query = _changes_query(name, collection["space"], cursor or (since, None)).limit(limit + 1)
            rows = connection.execute(query).mappings().all()
        page, more = rows[:limit], len(rows) > limit
        last = page[-1] if page else None
        complete = collection["version"]
        if more and last is not None:  # the version that the page ends in may go on after it
            complete = last["version"] - (rows[limit]["version"] == last["version"])
        return ChangePage(
            epoch=collection["epoch"],
            changes=[_change(row) for row in page],
            complete=complete,
            cursor=(last["version"], last["id"]) if more and last is not None else None,
        )

    def damage(self) -> list[str]:
        if self._engine.dialect.name != "sqlite":  # a database server looks after its files itself
            return []
        try:
            with self._engine.connect() as connection:
                found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
                orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        except DBAPIError as error:  # too damaged even to be checked
            return [f"the database cannot be read: {error.orig}"]
        faults = [f"the database is damaged: {fault}" for fault in found if fault != "ok"]
        return faults + [f"a row of {row[0]} belongs to nothing" for row in orphans]

    def close(self) -> None:
        self._engine.dispose()


def _next_version(connection: Connection, name: str) -> Version:
    """Take the collection's next version, and with it the lock of its row until the transaction ends."""
    taken = (
        update(collections)
        .where(collections.c.name == name)
        .values(version=collections.c.version + 1)
        .returning(collections.c.epoch, collections.c.version)
    )
    row = connection.execute(taken).one_or_none()
    if row is None:
        raise _unknown(name)
    return Version(row.epoch, row.version)


def _update_metadata(connection: Connection, name: str, version: Version, unchanged: Sequence[Document]) -> None:
    """New metadata for documents whose text is already stored, and encoded."""
    if not unchanged:
        return
    mine = (documents.c.collection == name, documents.c.id.in_([document.id for document in unchanged]))
    stored = {
        row.id: row.text
        for row in connection.execute(select(documents.c.id, documents.c.text).where(*mine, ~documents.c.deleted))
    }
    if any(stored.get(document.id) != document.text for document in unchanged):
        raise TextChanged
    statement = (
        update(documents)
        .where(documents.c.collection == name, documents.c.id == bindparam("of"))
        .values(metadata=bindparam("new"), version=version.number)
    )
    connection.execute(statement, [{"of": document.id, "new": dict(document.metadata)} for document in unchanged])


def _replace(connection: Connection, name: str, space: str, version: Version, writes: Sequence[Write]) -> None:
    """Documents with new vectors; what the same ids held before goes, its vectors and codes with it."""
    if not writes:
        return
    ids = [write.document.id for write in writes]
    connection.execute(delete(documents).where(documents.c.collection == name, documents.c.id.in_(ids)))
    connection.execute(insert(documents), [_document_row(name, version, write) for write in writes])
    embedded = [(write.document.id, write.embedded) for write in writes if write.embedded is not None]
    keys = {"collection": name, "space": space}
    connection.execute(
        insert(vectors),
        [{**keys, "id": doc_id, "vector": each.vector.astype("<f4").tobytes()} for doc_id, each in embedded],
    )
    codes = [
        {**keys, "id": doc_id, "codes": each.codes, "size": len(each.codes), "error": each.code_error}
        for doc_id, each in embedded
        if each.codes is not None
    ]
    if codes:
        connection.execute(insert(token_codes), codes)


def _changes_query(name: str, space: str, after: tuple[int, str | None]) -> Select[Any]:
    version, doc_id = after
    later = documents.c.version > version
    if doc_id is not None:
        later = or_(later, and_(documents.c.version == version, documents.c.id > doc_id))
    own_vector = and_(
        vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id, vectors.c.space == space
    )
    return (
        select(documents.c.id, documents.c.version, documents.c.metadata, vectors.c.vector)
        .join(vectors, own_vector, isouter=True)
        .where(documents.c.collection == name, later)
        .order_by(documents.c.version, documents.c.id)
    )


def _size(connection: Connection, collection: RowMapping) -> CollectionSize:
    mine = documents.c.collection == collection["name"]
    count = connection.execute(select(func.count()).where(mine, ~documents.c.deleted)).scalar_one()
    of_codes = select(func.sum(token_codes.c.size), func.max(token_codes.c.error))
    size, error = connection.execute(of_codes.where(token_codes.c.collection == collection["name"])).one()
    each = 4 * collection["dim"] + (size or 0) / count if count else 0.0
    return CollectionSize(documents=count, bytes_per_document=each, token_error=error)


def _collection_row(connection: Connection, name: str) -> RowMapping:
    row = connection.execute(select(collections).where(collections.c.name == name)).mappings().one_or_none()
    if row is None:
        raise _unknown(name)
    return row


def _unknown(name: str) -> UnknownCollection:
    return UnknownCollection(f"there is no collection {name!r}: create it with PUT /collections/{name}")


def _collection(row: RowMapping) -> Collection:
    settings = CollectionSettings(**{field.name: row[field.name] for field in fields(CollectionSettings)})
    return Collection(name=row["name"], version=Version(row["epoch"], row["version"]), settings=settings)


def _document(row: RowMapping) -> Document:
    return Document(**{field.name: row[field.name] for field in fields(Document)})


def _document_row(name: str, version: Version, write: Write) -> dict[str, Any]:
    document = write.document
    return {
        "collection": name,
        "id": document.id,
        "version": version.number,
        "deleted": False,
        "text": document.text,
        "truncated": write.embedded is not None and write.embedded.truncated,
        "metadata": dict(document.metadata),
    }


def _change(row: RowMapping) -> Change:
    vector = None if row["vector"] is None else np.frombuffer(row["vector"], "<f4")
    return Change(id=row["id"], version=row["version"], vector=vector, metadata=row["metadata"])
