"""Re-embed a collection: store embeddings by its next encoder, then switch to it.

A filled document gets a new version, so that indexes and copies receive its new vector as a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, select, update

from semblance.service.documents.rows import (
    count_unfilled,
    is_unfilled,
    rollover_columns,
    select_collection,
    to_collection,
    to_document,
)
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import delete_other_spaces, insert_embeddings
from semblance.service.errors import NoRollover, RolloverDiffers, RolloverUnfinished
from semblance.service.ports.documents import Collection, Document, DocumentEmbedding, Rollover


def begin(connection: Connection, current: Collection, rollover: Rollover) -> Collection:
    """Set the next encoder, in the transaction of version `current`. Raises RolloverDiffers."""
    if current.rollover is not None:
        raise RolloverDiffers(
            f"collection {current.name!r} is being re-embedded under {current.rollover.model!r} (space "
            f"{current.rollover.space[:12]}): finish or drop that roll-over before you begin one to {rollover.model!r}"
        )
    row = update(collections).where(collections.c.name == current.name)
    connection.execute(row.values(**rollover_columns(rollover)))
    return to_collection(select_collection(connection, current.name))


def unfilled(connection: Connection, name: str, limit: int) -> tuple[int, list[Document]]:
    """Count documents without the next embedding, and list the first. Raises NoRollover."""
    space = _next_space(to_collection(select_collection(connection, name)))
    first = select(documents).where(is_unfilled(name, space)).order_by(documents.c.id).limit(limit)
    return count_unfilled(connection, name, space), [to_document(row) for row in connection.execute(first).mappings()]


def fill(connection: Connection, current: Collection, embedded: Sequence[tuple[Document, DocumentEmbedding]]) -> None:
    """Store embeddings by the next encoder; documents that changed meanwhile are skipped."""
    assert current.rollover is not None
    read = {document.id: (document.version, each) for document, each in embedded}
    own = documents.c.collection == current.name
    query = select(documents.c.id, documents.c.version).where(own, documents.c.id.in_(list(read)), ~documents.c.deleted)
    same = [row.id for row in connection.execute(query) if row.version == read[row.id][0]]
    for table in (vectors, token_codes):
        connection.execute(
            delete(table).where(
                table.c.collection == current.name, table.c.space == current.rollover.space, table.c.id.in_(same)
            )
        )
    insert_embeddings(
        connection, current.name, [(doc_id, {current.rollover.space: read[doc_id][1]}) for doc_id in same]
    )
    filled = update(documents).where(own, documents.c.id.in_(same))
    connection.execute(filled.values(version=current.version.number))


def switch(connection: Connection, current: Collection) -> None:
    """Make the next encoder the collection's own. Raises NoRollover, RolloverUnfinished."""
    if count := count_unfilled(connection, current.name, _next_space(current)):
        raise RolloverUnfinished(
            f"{count:,} documents of collection {current.name!r} are not re-embedded yet: continue the roll-over first"
        )
    update_encoders(connection, current.rolled_over())


def update_encoders(connection: Connection, collection: Collection) -> None:
    """Store both encoders of a collection, and delete embeddings by others."""
    row = update(collections).where(collections.c.name == collection.name)
    connection.execute(row.values(**asdict(collection.settings), **rollover_columns(collection.rollover)))
    spaces = [encoder.space for encoder in (collection.settings, collection.rollover) if encoder is not None]
    delete_other_spaces(connection, collection.name, spaces)


def _next_space(collection: Collection) -> str:
    """Space of the next encoder. Raises NoRollover."""
    if collection.rollover is None:
        name = collection.name
        raise NoRollover(f"collection {name!r} is not being re-embedded: begin with PUT /collections/{name}/rollover")
    return collection.rollover.space
