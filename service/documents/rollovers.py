"""Re-embedding a collection under another encoder, in the tables: beside what the present one made, then in its place.

Every document that is filled is one that changed, so that whoever follows the collection hears of its new vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, select, update

from semblance.service.documents.rows import (
    collection_of,
    collection_row,
    count_lacking,
    document_of,
    lacks,
    rollover_columns,
)
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.writes import forget_spaces, insert_embedded
from semblance.service.errors import NoRollover, RolloverDiffers, RolloverUnfinished
from semblance.service.ports.documents import Collection, Document, Embedded, Rollover


def begin(connection: Connection, now: Collection, rollover: Rollover) -> Collection:
    """In the transaction that took the version of `now`. Raises RolloverDiffers."""
    if now.rollover is not None:
        raise RolloverDiffers(
            f"collection {now.name!r} is being re-embedded under {now.rollover.model!r} (space "
            f"{now.rollover.space[:12]}): finish that, or drop it, before you begin with {rollover.model!r}"
        )
    row = update(collections).where(collections.c.name == now.name)
    connection.execute(row.values(**rollover_columns(rollover)))
    return collection_of(collection_row(connection, now.name))


def unfilled(connection: Connection, name: str, limit: int) -> tuple[int, list[Document]]:
    """How many documents the next encoder has not embedded, and the first of them. Raises NoRollover."""
    space = _next_space(collection_of(collection_row(connection, name)))
    first = select(documents).where(lacks(name, space)).order_by(documents.c.id).limit(limit)
    return count_lacking(connection, name, space), [document_of(row) for row in connection.execute(first).mappings()]


def fill(connection: Connection, now: Collection, embedded: Sequence[tuple[Document, Embedded]]) -> None:
    """In the transaction that took the version of `now`; documents that changed since are left out."""
    assert now.rollover is not None
    made = {document.id: (document.version, each) for document, each in embedded}
    mine = documents.c.collection == now.name
    found = select(documents.c.id, documents.c.version).where(
        mine, documents.c.id.in_(list(made)), ~documents.c.deleted
    )
    same = [row.id for row in connection.execute(found) if row.version == made[row.id][0]]
    for table in (vectors, token_codes):
        connection.execute(
            delete(table).where(
                table.c.collection == now.name, table.c.space == now.rollover.space, table.c.id.in_(same)
            )
        )
    insert_embedded(connection, now.name, [(doc_id, {now.rollover.space: made[doc_id][1]}) for doc_id in same])
    touched = update(documents).where(mine, documents.c.id.in_(same))
    connection.execute(touched.values(version=now.version.number))


def switch(connection: Connection, now: Collection) -> None:
    """In the transaction that took the version of `now`. Raises NoRollover, RolloverUnfinished."""
    if count := count_lacking(connection, now.name, _next_space(now)):
        raise RolloverUnfinished(f"{count:,} documents of collection {now.name!r} are not re-embedded yet: go on first")
    take_encoders(connection, now.rolled_over())


def take_encoders(connection: Connection, collection: Collection) -> None:
    """Let the encoders of a collection be those that it is given with, and forget what others made."""
    row = update(collections).where(collections.c.name == collection.name)
    connection.execute(row.values(**asdict(collection.settings), **rollover_columns(collection.rollover)))
    kept = {collection.settings.space, collection.rollover.space if collection.rollover else collection.settings.space}
    forget_spaces(connection, collection.name, kept=kept)


def _next_space(collection: Collection) -> str:
    """The space that a collection is being re-embedded for. Raises NoRollover."""
    if collection.rollover is None:
        name = collection.name
        raise NoRollover(f"collection {name!r} is not being re-embedded: begin with PUT /collections/{name}/rollover")
    return collection.rollover.space
