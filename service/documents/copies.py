"""Fill a store from another one: as a copy with the same epochs, or restored under new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, delete, insert, select, update

from semblance.service.documents import history
from semblance.service.documents.aliases import insert_aliases, select_aliases
from semblance.service.documents.reembeddings import update_encoders, update_truncated
from semblance.service.documents.rows import (
    document_row,
    new_epoch,
    reembedding_columns,
    select_collection,
    select_documents,
    to_collection,
)
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import delete_documents, insert_embeddings, update_documents
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    ChangePage,
    Collection,
    CollectionContents,
    Commit,
    Document,
    DocumentChange,
    Reembedding,
    Version,
)


def begin_epoch(connection: Connection, collection: Collection) -> None:
    """Replace a collection by an empty one of another epoch, which keeps its aliases."""
    leading = {name: target for name, target in select_aliases(connection).items() if target == collection.name}
    connection.execute(delete(collections).where(collections.c.name == collection.name))
    row = {
        "name": collection.name,
        "epoch": collection.version.epoch,
        "version": INCOMPLETE_VERSION,
        "last_commit": "",
        **asdict(collection.settings),
        **reembedding_columns(collection.reembedding),
        "glossary": collection.glossary,
    }
    connection.execute(insert(collections).values(row))
    insert_aliases(connection, leading)


def put(connection: Connection, name: str, changes: Sequence[DocumentChange]) -> None:
    """Store the latest state of some documents.

    Of a document in which only the version differs, embeddings that the change lacks are kept: the primary may have
    switched to its next encoder while this copy still serves the former one.
    """
    ids = [change.document.id for change in changes]
    former = select_documents(connection, name, ids)
    same = [change for change in changes if _is_same(change, former.get(change.document.id))]
    same_ids = {change.document.id for change in same}
    delete_documents(connection, name, [doc_id for doc_id in ids if doc_id not in same_ids])
    new = [change for change in changes if change.document.id not in same_ids]
    if new:
        rows = [document_row(name, change.document, deleted=change.deleted) for change in new]
        connection.execute(insert(documents), rows)
    if same:
        _update_rows(connection, name, same)
    insert_embeddings(connection, name, [(change.document.id, change.embeddings) for change in changes])


def advance(connection: Connection, name: str, version: Version, commits: Sequence[Commit]) -> None:
    """Set the version of the copy, and add its commits."""
    select_collection(connection, name)
    row = update(collections).where(collections.c.name == name)
    connection.execute(row.values(version=version.number, last_commit=version.commit))
    history.record(connection, name, commits)


def set_reembedding(connection: Connection, name: str, reembedding: Reembedding | None) -> None:
    """Set or remove the next encoder, and delete embeddings by others."""
    collection = to_collection(select_collection(connection, name))
    update_encoders(connection, replace(collection, reembedding=reembedding))


def set_glossary(connection: Connection, name: str, glossary: str) -> None:
    """Replace the glossary."""
    row = update(collections).where(collections.c.name == name)
    connection.execute(row.values(glossary=glossary))


def set_encoders(connection: Connection, collection: Collection, version: Version, commits: Sequence[Commit]) -> None:
    """Set both encoders to those of `collection`, at `version`."""
    advance(connection, collection.name, version, commits)
    update_encoders(connection, collection)
    update_truncated(connection, collection)


def apply(connection: Connection, name: str, pages: Iterable[ChangePage[DocumentChange]]) -> None:
    """Store pages of changes and the version of the last one, all in one transaction."""
    for page in pages:
        put(connection, name, page.changes)
        if page.cursor is None:
            advance(connection, name, page.complete, page.commits)


def replace_all(connection: Connection, contents: Iterable[CollectionContents], aliases: Mapping[str, str]) -> set[str]:
    """Replace all collections, under new epochs, and aliases; returns former and new names."""
    if connection.dialect.name == "postgresql":
        # Writers wait for this lock and then find the new epochs; readers see the former state until the commit. Only
        # the wait for the lock is limited: deleting much takes one long statement.
        connection.exec_driver_sql("LOCK TABLE collections IN EXCLUSIVE MODE")
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    names = set(connection.execute(select(collections.c.name)).scalars())
    connection.execute(delete(collections))
    for each in contents:
        version = replace(each.collection.version, epoch=new_epoch())
        collection = replace(each.collection, version=version)
        begin_epoch(connection, collection)
        for changes in each.pages:
            put(connection, collection.name, changes)
        advance(connection, collection.name, version, [Commit(version.number, version.commit)])
        names.add(collection.name)
    insert_aliases(connection, aliases)
    return names


def _is_same(change: DocumentChange, former: Document | None) -> bool:
    """Whether nothing of a document is new but its version, and maybe embeddings."""
    now = change.document
    return former is not None and not change.deleted and (former.text, former.metadata) == (now.text, now.metadata)


def _update_rows(connection: Connection, name: str, changes: Sequence[DocumentChange]) -> None:
    """Update versions of documents, and delete embeddings that are replaced."""
    rows = [change.document for change in changes]
    update_documents(connection, name, rows)
    generations = {generation for change in changes for generation in change.embeddings}
    for table in (vectors, token_codes):
        key = (table.c.collection == name, table.c.id.in_([row.id for row in rows]))
        connection.execute(delete(table).where(*key, table.c.space.in_(generations)))
