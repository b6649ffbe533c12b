"""The steps of the transactions that change documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from semblance.service.documents.rows import collection_of, document_row, embedded_rows, unknown
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.errors import CollectionReplaced, TextChanged
from semblance.service.ports.documents import Collection, Document, Embedded, Rollover


def next_version(connection: Connection, name: str) -> Collection:
    """Take the collection's next version, and with it the lock of its row until the transaction ends.

    Raises UnknownCollection.
    """
    taken = (
        update(collections)
        .where(collections.c.name == name)
        .values(version=collections.c.version + 1)
        .returning(*collections.c)
    )
    row = connection.execute(taken).mappings().one_or_none()
    if row is None:
        raise unknown(name)
    return collection_of(row)


def require_same(found: Collection, now: Collection) -> None:
    """Raise CollectionReplaced unless the same encoders fill the same life of the collection as when it was found."""
    if _filled_by(found) != _filled_by(now):
        raise CollectionReplaced


def _filled_by(collection: Collection) -> tuple[str, str, Rollover | None]:
    return collection.version.epoch, collection.settings.space, collection.rollover


def update_metadata(connection: Connection, now: Collection, unchanged: Sequence[Document]) -> None:
    """New metadata for documents whose text is already stored, and encoded. Raises TextChanged."""
    if not unchanged:
        return
    mine = (documents.c.collection == now.name, documents.c.id.in_([document.id for document in unchanged]))
    stored = {
        row.id: row.text
        for row in connection.execute(select(documents.c.id, documents.c.text).where(*mine, ~documents.c.deleted))
    }
    if any(stored.get(document.id) != document.text for document in unchanged):
        raise TextChanged
    statement = (
        update(documents)
        .where(documents.c.collection == now.name, documents.c.id == bindparam("of"))
        .values(metadata=bindparam("new"), version=now.version.number)
    )
    connection.execute(statement, [{"of": document.id, "new": dict(document.metadata)} for document in unchanged])


def replace_documents(
    connection: Connection, name: str, given: Sequence[tuple[Document, Mapping[str, Embedded]]]
) -> None:
    """Documents with what encoders made of them; all that the same ids held before goes."""
    if not given:
        return
    delete_documents(connection, name, [document.id for document, _ in given])
    connection.execute(insert(documents), [document_row(name, document) for document, _ in given])
    insert_embedded(connection, name, [(document.id, made) for document, made in given])


def delete_documents(connection: Connection, name: str, ids: Sequence[str]) -> None:
    """Remove documents, with all that was made of them."""
    connection.execute(delete(documents).where(documents.c.collection == name, documents.c.id.in_(ids)))


def insert_embedded(connection: Connection, name: str, made: Iterable[tuple[str, Mapping[str, Embedded]]]) -> None:
    """What encoders made of documents, by id and space."""
    of_vectors, of_codes = embedded_rows(name, made)
    if of_vectors:
        connection.execute(insert(vectors), of_vectors)
    if of_codes:
        connection.execute(insert(token_codes), of_codes)


def forget_spaces(connection: Connection, name: str, *, kept: Iterable[str]) -> None:
    """Remove what other encoders than those of the `kept` spaces made of the documents."""
    for table in (vectors, token_codes):
        connection.execute(delete(table).where(table.c.collection == name, table.c.space.not_in(list(kept))))
