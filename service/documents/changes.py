"""Read pages of changes since a version: vectors for indexes, documents for copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select

from semblance.service.documents.rows import select_collection, to_collection, to_document, to_vector
from semblance.service.documents.schema import documents, token_codes, vectors
from semblance.service.ports.documents import AnyChange, ChangePage, DocumentChange, DocumentEmbedding, VectorChange

Cursor: TypeAlias = tuple[int, str]


def vector_changes(
    connection: Connection, name: str, after: tuple[int, str | None], limit: int, space: str | None
) -> ChangePage[VectorChange]:
    """Read up to `limit` changes, with the vectors of one space."""
    collection = select_collection(connection, name)
    of_document = and_(
        vectors.c.collection == documents.c.collection,
        vectors.c.id == documents.c.id,
        vectors.c.space == (space or collection["space"]),
    )
    query = (
        select(documents.c.id, documents.c.version, documents.c.metadata, vectors.c.vector)
        .join(vectors, of_document, isouter=True)
        .where(_after(name, after))
        .order_by(documents.c.version, documents.c.id)
        .limit(limit + 1)
    )
    rows = connection.execute(query).mappings().all()
    changes = [VectorChange(row["id"], row["version"], to_vector(row["vector"]), row["metadata"]) for row in rows]
    return _page(collection, rows, changes[:limit])


def document_changes(
    connection: Connection, name: str, after: tuple[int, str | None], limit: int
) -> ChangePage[DocumentChange]:
    """Read up to `limit` changes, with all that is stored of each document."""
    collection = select_collection(connection, name)
    query = select(documents).where(_after(name, after)).order_by(documents.c.version, documents.c.id).limit(limit + 1)
    rows = connection.execute(query).mappings().all()
    embeddings = _embeddings(connection, name, [row["id"] for row in rows[:limit]])
    changes = [DocumentChange(to_document(row), row["deleted"], embeddings[row["id"]]) for row in rows[:limit]]
    return _page(collection, rows, changes)


def _page(row: RowMapping, rows: Sequence[RowMapping], changes: Sequence[AnyChange]) -> ChangePage[AnyChange]:
    """Make a page; `rows` may have one row more than `changes`, the first of the next page."""
    collection, limit = to_collection(row), len(changes)
    if len(rows) == limit:
        return ChangePage(collection, changes, collection.version.number, None)
    last, following = rows[limit - 1], rows[limit]
    complete = last["version"] - (following["version"] == last["version"])  # its changes may continue on the next page
    # a copy that is being filled has documents of later versions than its own
    return ChangePage(collection, changes, min(complete, collection.version.number), (last["version"], last["id"]))


def _after(name: str, after: tuple[int, str | None]) -> ColumnElement[bool]:
    version, doc_id = after
    later = documents.c.version > version
    if doc_id is not None:
        later = or_(later, and_(documents.c.version == version, documents.c.id > doc_id))
    return and_(documents.c.collection == name, later)


def _embeddings(
    connection: Connection, name: str, ids: Sequence[str]
) -> defaultdict[str, dict[str, DocumentEmbedding]]:
    """Embeddings of documents, by id and space."""
    embeddings: defaultdict[str, dict[str, DocumentEmbedding]] = defaultdict(dict)

    def rows_of(table: Any) -> Sequence[RowMapping]:
        return connection.execute(select(table).where(table.c.collection == name, table.c.id.in_(ids))).mappings().all()

    for row in rows_of(vectors):
        vector = to_vector(row["vector"])
        assert vector is not None
        embeddings[row["id"]][row["space"]] = DocumentEmbedding(vector, truncated=False)
    for row in rows_of(token_codes):
        by_space = embeddings[row["id"]]
        by_space[row["space"]] = replace(by_space[row["space"]], codes=row["codes"], code_error=row["error"])
    return embeddings
