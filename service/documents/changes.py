"""What changed in a collection since a version of it: for indexes, and for copies of the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select

from semblance.service.documents.rows import collection_of, collection_row, document_of, vector_of
from semblance.service.documents.schema import documents, token_codes, vectors
from semblance.service.ports.documents import AnyChange, Change, ChangePage, Embedded, WholeChange

Cursor: TypeAlias = tuple[int, str]


def changes(
    connection: Connection, name: str, after: tuple[int, str | None], limit: int, space: str | None
) -> ChangePage[Change]:
    """Up to `limit` changes with the vectors of one space."""
    collection = collection_row(connection, name)
    own_vector = and_(
        vectors.c.collection == documents.c.collection,
        vectors.c.id == documents.c.id,
        vectors.c.space == (space or collection["space"]),
    )
    query = (
        select(documents.c.id, documents.c.version, documents.c.metadata, vectors.c.vector)
        .join(vectors, own_vector, isouter=True)
        .where(_later(name, after))
        .order_by(documents.c.version, documents.c.id)
        .limit(limit + 1)
    )
    rows = connection.execute(query).mappings().all()
    found = [Change(row["id"], row["version"], vector_of(row["vector"]), row["metadata"]) for row in rows[:limit]]
    return _page(collection, rows, found)


def whole_changes(
    connection: Connection, name: str, after: tuple[int, str | None], limit: int
) -> ChangePage[WholeChange]:
    """Up to `limit` changes with all that is stored of each document."""
    collection = collection_row(connection, name)
    query = select(documents).where(_later(name, after)).order_by(documents.c.version, documents.c.id).limit(limit + 1)
    rows = connection.execute(query).mappings().all()
    embedded = _embedded(connection, name, [row["id"] for row in rows[:limit]])
    found = [WholeChange(document_of(row), row["deleted"], embedded[row["id"]]) for row in rows[:limit]]
    return _page(collection, rows, found)


def _page(row: RowMapping, rows: Sequence[RowMapping], found: Sequence[AnyChange]) -> ChangePage[AnyChange]:
    """A page of what was found; `rows` may hold one more, the first of the next page."""
    collection, limit = collection_of(row), len(found)
    if len(rows) == limit:
        return ChangePage(collection, found, collection.version.number, None)
    last, following = rows[limit - 1], rows[limit]
    complete = last["version"] - (following["version"] == last["version"])  # it may go on after the page
    # a copy that is being filled has documents of versions that it has not reached
    return ChangePage(collection, found, min(complete, collection.version.number), (last["version"], last["id"]))


def _later(name: str, after: tuple[int, str | None]) -> ColumnElement[bool]:
    version, doc_id = after
    later = documents.c.version > version
    if doc_id is not None:
        later = or_(later, and_(documents.c.version == version, documents.c.id > doc_id))
    return and_(documents.c.collection == name, later)


def _embedded(connection: Connection, name: str, ids: Sequence[str]) -> dict[str, dict[str, Embedded]]:
    """What all encoders made of those documents."""
    found: dict[str, dict[str, Embedded]] = defaultdict(dict)

    def rows_of(table: Any) -> Sequence[RowMapping]:
        return connection.execute(select(table).where(table.c.collection == name, table.c.id.in_(ids))).mappings().all()

    for row in rows_of(vectors):
        vector = vector_of(row["vector"])
        assert vector is not None
        found[row["id"]][row["space"]] = Embedded(vector, truncated=False)
    for row in rows_of(token_codes):
        of_document = found[row["id"]]
        plain = of_document[row["space"]]
        of_document[row["space"]] = replace(plain, codes=row["codes"], code_error=row["error"])
    return found
