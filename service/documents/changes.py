"""Read pages of changes since a version: vectors for indexes, documents for copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, func, or_, select

from semblance.service.documents import history
from semblance.service.documents.rows import (
    EMBEDDING_BYTES,
    read_page,
    select_collection,
    to_collection,
    to_document,
    to_spans,
    to_vectors,
)
from semblance.service.documents.schema import documents, token_codes, vectors
from semblance.service.documents.writes import IDS_PER_STATEMENT
from semblance.service.ports.documents import (
    AnyChange,
    ChangePage,
    Collection,
    Cursor,
    DocumentChange,
    DocumentEmbedding,
    VectorChange,
    Version,
    passage_texts,
)
from semblance.service.ports.searched_text import SearchedText


def _bytes_of(table: Table, size: ColumnElement[int]) -> ColumnElement[int]:
    """Bytes that a table has of a document."""
    own = (table.c.collection == documents.c.collection, table.c.id == documents.c.id)
    return select(func.coalesce(func.sum(size), 0)).where(*own).scalar_subquery()


_EMBEDDING_BYTES = _bytes_of(vectors, func.length(vectors.c.vector)) + _bytes_of(token_codes, token_codes.c.size)


def vector_changes(
    connection: Connection, name: str, since: Version, cursor: Cursor | None, limit: int, generation: str | None
) -> ChangePage[VectorChange]:
    """Read a page of changes, with the vectors of one generation. Raises as `DocumentStore`."""
    collection = _collection(connection, name, since, cursor)
    of_document = and_(
        vectors.c.collection == documents.c.collection,
        vectors.c.id == documents.c.id,
        vectors.c.space == (generation or to_collection(collection).settings.generation),
    )
    query = (
        select(
            documents.c.id,
            documents.c.version,
            documents.c.metadata,
            documents.c.text,
            vectors.c.vector,
            vectors.c.passages,
            vectors.c.spans,
        )
        .join(vectors, of_document, isouter=True)
        .where(_after(name, since, cursor))
        .order_by(documents.c.version, documents.c.id)
    )
    rows, following = read_page(connection, query, limit)
    text_fields = collection["text_fields"]
    return _page(connection, collection, [_vector_change(row, text_fields) for row in rows], rows, following)


def vector_states(
    connection: Connection, name: str, ids: Sequence[str], generation: str
) -> tuple[Collection, dict[str, VectorChange]]:
    """Documents as `vector_changes` reads them, without texts; deleted ones are left out."""
    collection = to_collection(select_collection(connection, name))
    of_document = and_(vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id)
    columns = (documents.c.id, documents.c.version, documents.c.metadata, vectors.c.vector, vectors.c.passages)
    states: dict[str, VectorChange] = {}
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        some = documents.c.id.in_(ids[start : start + IDS_PER_STATEMENT])
        query = select(*columns).join(vectors, of_document).where(documents.c.collection == name, some)
        for row in connection.execute(query.where(vectors.c.space == generation)).mappings():
            found = to_vectors(row["vector"], row["passages"])
            states[row["id"]] = VectorChange(row["id"], row["version"], found, row["metadata"])
    return collection, states


def document_changes(
    connection: Connection, name: str, since: Version, cursor: Cursor | None, limit: int
) -> ChangePage[DocumentChange]:
    """Read a page of changes, with all that is stored of each document."""
    collection = _collection(connection, name, since, cursor)
    sized = select(*documents.c, _EMBEDDING_BYTES.label(EMBEDDING_BYTES))
    in_order = sized.where(_after(name, since, cursor)).order_by(documents.c.version, documents.c.id)
    rows, following = read_page(connection, in_order, limit)
    embeddings = _embeddings(connection, name, [row["id"] for row in rows])
    changes = [DocumentChange(to_document(row), row["deleted"], embeddings[row["id"]]) for row in rows]
    page = _page(connection, collection, changes, rows, following)
    return page if page.cursor else replace(page, commits=history.commits_after(connection, name, since.number))


def _vector_change(row: RowMapping, text_fields: Sequence[str]) -> VectorChange:
    found = to_vectors(row["vector"], row["passages"])
    searched = SearchedText.of(row["text"], row["metadata"], text_fields)
    texts = [] if found is None else passage_texts(searched.whole, to_spans(row["spans"]))
    return VectorChange(row["id"], row["version"], found, row["metadata"], texts)


def _collection(connection: Connection, name: str, since: Version, cursor: Cursor | None) -> RowMapping:
    """Row of a collection that has the state which the reader saw last."""
    row = select_collection(connection, name)
    history.require_seen(connection, row, since if cursor is None else cursor.seen)
    return row


def _page(
    connection: Connection,
    row: RowMapping,
    changes: Sequence[AnyChange],
    rows: Sequence[RowMapping],
    following: RowMapping | None,
) -> ChangePage[AnyChange]:
    """Make a page of changes from their rows, and the first row of the next page, if any."""
    collection = to_collection(row)
    now = collection.version
    if following is None:
        return ChangePage(collection, changes, now, None)
    last = rows[-1]
    complete = last["version"] - (following["version"] == last["version"])  # its changes may continue on the next page
    if complete >= now.number:  # a copy that is being filled has documents of later versions than its own
        reached = now
    else:
        reached = Version(now.epoch, complete, history.commit_of(connection, collection.name, complete) or "")
    return ChangePage(collection, changes, reached, Cursor(last["version"], last["id"], now))


def _after(name: str, since: Version, cursor: Cursor | None) -> ColumnElement[bool]:
    later = documents.c.version > since.number
    if cursor is not None:
        same_version = and_(documents.c.version == cursor.version, documents.c.id > cursor.id)
        later = or_(documents.c.version > cursor.version, same_version)
    return and_(documents.c.collection == name, later)


def _embeddings(
    connection: Connection, name: str, ids: Sequence[str]
) -> defaultdict[str, dict[str, DocumentEmbedding]]:
    """Embeddings of documents, by id and generation."""
    embeddings: defaultdict[str, dict[str, DocumentEmbedding]] = defaultdict(dict)

    def rows_of(table: Any) -> Sequence[RowMapping]:
        return connection.execute(select(table).where(table.c.collection == name, table.c.id.in_(ids))).mappings().all()

    for row in rows_of(vectors):
        found = to_vectors(row["vector"], row["passages"])
        assert found is not None
        truncated = bool(row["truncated"])
        embeddings[row["id"]][row["space"]] = DocumentEmbedding(found, truncated, to_spans(row["spans"]))
    for row in sorted(rows_of(token_codes), key=lambda row: row["passage"]):
        own = embeddings[row["id"]]
        each = own[row["space"]]
        own[row["space"]] = replace(each, codes=[*(each.codes or ()), row["codes"]], code_error=row["error"])
    return embeddings
