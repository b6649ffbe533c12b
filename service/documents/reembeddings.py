"""Re-embed a collection: store embeddings by its next encoder, then switch to it.

A filled document gets a new version, so that indexes and copies receive its new vector as a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, and_, delete, select, update

from semblance.service.documents.rows import (
    count_unfilled,
    is_unfilled,
    read_page,
    reembedding_columns,
    select_collection,
    to_collection,
    to_document,
)
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import delete_other_generations, insert_embeddings, update_documents
from semblance.service.errors import NoReembedding, ReembeddingDiffers, ReembeddingUnfinished
from semblance.service.ports.documents import Collection, Document, DocumentEmbedding, Reembedding

UNFILLED_CHARS = 2_000_000  # of documents that are embedded together: minutes of work on few cores
UPDATED_DOCUMENTS = 2048  # at a time


def begin(connection: Connection, current: Collection, reembedding: Reembedding) -> Collection:
    """Set the next encoder, in the transaction of version `current`. Raises ReembeddingDiffers."""
    if current.reembedding is not None:
        raise ReembeddingDiffers(
            f"collection {current.name!r} is being re-embedded under {current.reembedding.model!r} (space "
            f"{current.reembedding.space[:12]}): finish or drop that before you begin one to {reembedding.model!r} "
            "or to passages of another length"
        )
    row = update(collections).where(collections.c.name == current.name)
    connection.execute(row.values(**reembedding_columns(reembedding)))
    return to_collection(select_collection(connection, current.name))


def unfilled(connection: Connection, name: str, limit: int) -> tuple[int, list[Document]]:
    """Count documents without the next embedding, and list the first. Raises NoReembedding."""
    following = _next_generation(to_collection(select_collection(connection, name)))
    in_order = select(documents).where(is_unfilled(name, following)).order_by(documents.c.id)
    rows, _ = read_page(connection, in_order, limit, UNFILLED_CHARS)
    return count_unfilled(connection, name, following), [to_document(row) for row in rows]


def fill(connection: Connection, current: Collection, embedded: Sequence[tuple[Document, DocumentEmbedding]]) -> None:
    """Store embeddings by the next encoder; documents that changed meanwhile are skipped."""
    following = _next_generation(current)
    read = {document.id: (document.version, each) for document, each in embedded}
    own = documents.c.collection == current.name
    query = select(documents.c.id, documents.c.version).where(own, documents.c.id.in_(list(read)), ~documents.c.deleted)
    same = [row.id for row in connection.execute(query) if row.version == read[row.id][0]]
    for table in (vectors, token_codes):
        connection.execute(
            delete(table).where(table.c.collection == current.name, table.c.space == following, table.c.id.in_(same))
        )
    insert_embeddings(connection, current.name, [(doc_id, {following: read[doc_id][1]}) for doc_id in same])
    filled = update(documents).where(own, documents.c.id.in_(same))
    connection.execute(filled.values(version=current.version.number))


def switch(connection: Connection, current: Collection) -> None:
    """Make the next encoder the collection's own. Raises NoReembedding, ReembeddingUnfinished."""
    if count := count_unfilled(connection, current.name, _next_generation(current)):
        raise ReembeddingUnfinished(
            f"{count:,} documents of collection {current.name!r} are not re-embedded yet: embed these first"
        )
    update_encoders(connection, current.reembedded())
    update_truncated(connection, current.reembedded())


def update_encoders(connection: Connection, collection: Collection) -> None:
    """Store both encoders of a collection, and delete embeddings by others."""
    row = update(collections).where(collections.c.name == collection.name)
    connection.execute(row.values(**asdict(collection.settings), **reembedding_columns(collection.reembedding)))
    kept = [each.generation for each in (collection.settings, collection.reembedding) if each is not None]
    delete_other_generations(connection, collection.name, kept)


def update_truncated(connection: Connection, collection: Collection) -> None:
    """After a switch: note which documents the new encoder read only in part."""
    own = and_(vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id)
    changed = (
        select(*documents.c, vectors.c.truncated.label("now"))
        .join(vectors, own)
        .where(documents.c.collection == collection.name, vectors.c.space == collection.settings.generation)
        .where(vectors.c.truncated != documents.c.truncated)
        .order_by(documents.c.id)
    )
    rows, following = read_page(connection, changed, UPDATED_DOCUMENTS)
    while rows:
        update_documents(connection, collection.name, [replace(to_document(row), truncated=row["now"]) for row in rows])
        if following is None:
            return
        rows, following = read_page(connection, changed.where(documents.c.id >= following["id"]), UPDATED_DOCUMENTS)


def _next_generation(collection: Collection) -> str:
    """Generation of the next encoder. Raises NoReembedding."""
    if collection.reembedding is None:
        name = collection.name
        raise NoReembedding(
            f"collection {name!r} is not being re-embedded: begin with PUT /collections/{name}/reembedding"
        )
    return collection.reembedding.generation
