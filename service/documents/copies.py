"""Filling a store from another one, with the epochs and versions of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from semblance.service.documents import rollovers
from semblance.service.documents.rows import collection_of, collection_row, document_row, rollover_columns
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import delete_documents, insert_embedded
from semblance.service.ports.documents import NOTHING_YET, Collection, Rollover, Version, WholeChange


def begin_life(connection: Connection, collection: Collection) -> None:
    """A collection that holds nothing yet, in place of a former life of it."""
    connection.execute(delete(collections).where(collections.c.name == collection.name))
    row = {
        "name": collection.name,
        "epoch": collection.version.epoch,
        "version": NOTHING_YET,
        **asdict(collection.settings),
        **rollover_columns(collection.rollover),
    }
    connection.execute(insert(collections).values(row))


def put(connection: Connection, name: str, changes: Sequence[WholeChange]) -> None:
    """The latest state of some documents.

    What an encoder made of a text that is still the same stays, although the change brings nothing of it: where the
    store has switched to its next encoder, this copy may still serve the former one.
    """
    ids = [change.document.id for change in changes]
    found = select(documents.c.id, documents.c.text).where(
        documents.c.collection == name, documents.c.id.in_(ids), ~documents.c.deleted
    )
    texts = {row.id: row.text for row in connection.execute(found)}
    kept = [
        change for change in changes if not change.deleted and texts.get(change.document.id) == change.document.text
    ]
    kept_ids = {change.document.id for change in kept}
    delete_documents(connection, name, [doc_id for doc_id in ids if doc_id not in kept_ids])
    new = [change for change in changes if change.document.id not in kept_ids]
    if new:
        rows = [document_row(name, change.document, deleted=change.deleted) for change in new]
        connection.execute(insert(documents), rows)
    if kept:
        _renew(connection, name, kept)
    insert_embedded(connection, name, [(change.document.id, change.embedded) for change in changes])


def advance(connection: Connection, name: str, number: int) -> None:
    """Note the version that the copy has."""
    collection_row(connection, name)
    connection.execute(update(collections).where(collections.c.name == name).values(version=number))


def take_rollover(connection: Connection, name: str, rollover: Rollover | None) -> None:
    """Note the next encoder, or that there is none, and forget what others made."""
    collection = collection_of(collection_row(connection, name))
    rollovers.take_encoders(connection, replace(collection, rollover=rollover))


def take_next(connection: Connection, collection: Collection, number: int) -> None:
    """Let the encoders of a collection be those that it is given with, at version `number`."""
    advance(connection, collection.name, number)
    rollovers.take_encoders(connection, collection)


class Following:
    """Follows within one transaction, which shows nothing of it before its end."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self.version = collection_of(collection_row(connection, name)).version

    def apply(self, changes: Sequence[WholeChange]) -> None:
        """Take over the latest state of some documents."""
        put(self._connection, self._name, changes)

    def advance(self, version: Version) -> None:
        """Note the version that the copy will have."""
        self.version = version
        advance(self._connection, self._name, version.number)


def _renew(connection: Connection, name: str, kept: Sequence[WholeChange]) -> None:
    """Documents that are there with the same text: their rows, without what the changes bring anew."""
    renewed = (
        update(documents)
        .where(documents.c.collection == name, documents.c.id == bindparam("of"))
        .values(metadata=bindparam("new"), version=bindparam("at"), truncated=bindparam("cut"))
    )
    documents_kept = [change.document for change in kept]
    connection.execute(
        renewed,
        [
            {"of": each.id, "new": dict(each.metadata), "at": each.version, "cut": each.truncated}
            for each in documents_kept
        ],
    )
    spaces = {space for change in kept for space in change.embedded}
    for table in (vectors, token_codes):
        key = (table.c.collection == name, table.c.id.in_([each.id for each in documents_kept]))
        connection.execute(delete(table).where(*key, table.c.space.in_(spaces)))
