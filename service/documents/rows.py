"""Read rows of the tables as the types of the ports, and convert back."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
)

from semblance.models.embeddings import Floats
from semblance.service.documents import row_digests
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.errors import VersionNotReached
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    Collection,
    CollectionSettings,
    CollectionSize,
    Document,
    DocumentEmbedding,
    PassageKey,
    Reembedding,
    Spans,
    Version,
    unknown_collection,
)

_FETCHED_ROWS = 64  # most rows that a server sends before the next are asked for

PAGE_BYTES = 16 << 20  # of texts and embeddings that are read together; a single document may have more
PASSAGES_PER_QUERY = 1000  # of token codes; three parameters each, and SQLite takes 32,766
EMBEDDING_BYTES = "embedding_bytes"  # label of a column that counts for the size of a row

_SELECT_COLLECTION = select(collections).where(
    collections.c.name == bindparam("of")
)  # built once: every search runs it

_SELECT_DOCUMENTS = select(
    *(documents.c[field.name] for field in fields(Document))
).where(  # built once: every search runs it
    documents.c.collection == bindparam("of"),
    documents.c.id.in_(bindparam("ids", expanding=True)),
    ~documents.c.deleted,
)
_SELECT_SPANS = select(vectors.c.id, vectors.c.spans).where(  # built once: every search runs it
    vectors.c.collection == bindparam("of"),
    vectors.c.id.in_(bindparam("ids", expanding=True)),
    vectors.c.space == bindparam("generation"),
    vectors.c.spans.is_not(None),
)
_SELECT_VECTORS = select(vectors.c.id, vectors.c.vector, vectors.c.passages).where(
    vectors.c.collection == bindparam("of"),
    vectors.c.id.in_(bindparam("ids", expanding=True)),
    vectors.c.space == bindparam("generation"),
)
_SELECT_CODES = select(token_codes.c.id, token_codes.c.passage, token_codes.c.codes).where(
    token_codes.c.collection == bindparam("of"),
    token_codes.c.space == bindparam("generation"),
    token_codes.c.id.in_(bindparam("ids", expanding=True)),  # for the index, which SQLite does not use for pairs
    tuple_(token_codes.c.id, token_codes.c.passage).in_(bindparam("passages", expanding=True)),
)


def new_epoch() -> str:
    """Random epoch of a new collection."""
    return secrets.token_hex(6)


def select_collection(connection: Connection, name: str) -> RowMapping:
    """Row of a collection. Raises UnknownCollection."""
    row = connection.execute(_SELECT_COLLECTION, {"of": name}).mappings().one_or_none()
    if row is None:
        raise unknown_collection(name)
    return row


def select_complete_collection(connection: Connection, name: str) -> RowMapping:
    """Row of a completely copied collection. Raises UnknownCollection, VersionNotReached."""
    row = select_collection(connection, name)
    if row["version"] == INCOMPLETE_VERSION:
        raise VersionNotReached(f"collection {name!r} is still being copied from the database: try again")
    return row


def to_collection(row: RowMapping) -> Collection:
    """Convert a row to a collection."""
    stored = {field.name: row[field.name] for field in fields(CollectionSettings)}
    settings = CollectionSettings(**{**stored, "text_fields": tuple(row["text_fields"])})
    reembedding = None
    if row["next_space"] is not None:
        reembedding = Reembedding(**{field.name: row[f"next_{field.name}"] for field in fields(Reembedding)})
    version = Version(row["epoch"], row["version"], row["last_commit"])
    return Collection(row["name"], version, settings, reembedding, row["glossary"])


def reembedding_columns(reembedding: Reembedding | None) -> dict[str, Any]:
    """Columns of a collection for its re-embedding."""
    if reembedding is None:
        return {**{f"next_{field.name}": None for field in fields(Reembedding)}, "next_passage_overlap": 0}
    return {f"next_{field}": value for field, value in asdict(reembedding).items()}


def collection_size(connection: Connection, collection: RowMapping) -> CollectionSize:
    """Size of a collection: its documents, and their embeddings by its own encoder."""
    now = to_collection(collection)
    name, generation = now.name, now.settings.generation
    counts = select(func.count(), func.count().filter(documents.c.truncated))
    count, truncated = connection.execute(counts.where(documents.c.collection == name, ~documents.c.deleted)).one()
    codes = select(func.sum(token_codes.c.size), func.max(token_codes.c.error))
    own = (token_codes.c.collection == name, token_codes.c.space == generation)
    size, error = connection.execute(codes.where(*own)).one()
    passages = count + _more_passages(connection, name, generation)
    total_bytes = 4 * now.settings.dim * passages + int(size or 0)
    return CollectionSize(
        documents=count,
        truncated=truncated,
        bytes_per_document=total_bytes / count if count else 0.0,
        token_error=error,
        passages=passages,
        unfilled=0 if now.reembedding is None else count_unfilled(connection, name, now.reembedding.generation),
    )


def _more_passages(connection: Connection, name: str, generation: str) -> int:
    """Number of passages that are not the first of their document."""
    several = (vectors.c.collection == name, vectors.c.space == generation, vectors.c.passages > literal_column("1"))
    return int(connection.execute(select(func.sum(vectors.c.passages - 1)).where(*several)).scalar_one() or 0)


def is_unfilled(name: str, generation: str) -> ColumnElement[bool]:
    """Condition: a document of the collection has no embedding of a generation."""
    embedding = select(vectors.c.id).where(
        vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id, vectors.c.space == generation
    )
    return and_(documents.c.collection == name, ~documents.c.deleted, ~embedding.exists())


def count_unfilled(connection: Connection, name: str, generation: str) -> int:
    """Number of documents without an embedding of a generation."""
    query = select(func.count()).select_from(documents).where(is_unfilled(name, generation))
    return connection.execute(query).scalar_one()


def to_document(row: RowMapping) -> Document:
    """Convert a row to a document."""
    return Document(**{field.name: row[field.name] for field in fields(Document)})


def document_row(name: str, document: Document, *, deleted: bool = False) -> dict[str, Any]:
    """Convert a document to a row."""
    row = {
        "collection": name,
        "id": document.id,
        "version": document.version,
        "deleted": deleted,
        "text": document.text,
        "truncated": document.truncated,
        "metadata": dict(document.metadata),
    }
    return row | {"digest": None if deleted else row_digests.of_document(row)}


def to_vectors(stored: bytes | None, passages: int | None) -> Floats | None:
    """Convert stored bytes to (passages, d) vectors, if there are any."""
    if stored is None or passages is None:
        return None
    numbers = np.frombuffer(stored, "<f4")
    return numbers.reshape(passages if len(numbers) % passages == 0 else 1, -1)  # `semblance index verify` reports it


def to_spans(stored: bytes | None) -> Spans | None:
    """Convert stored bytes to (p, 2) spans, if there are any."""
    return None if stored is None else np.frombuffer(stored, "<i4").reshape(-1, 2)


def embedding_rows(
    name: str, embeddings: Iterable[tuple[str, Mapping[str, DocumentEmbedding]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Convert embeddings by document id and generation to rows of vectors, and of token codes."""
    vectors: list[dict[str, Any]] = []
    codes: list[dict[str, Any]] = []
    for doc_id, by_generation in embeddings:
        for generation, each in by_generation.items():
            key = {"collection": name, "id": doc_id, "space": generation}
            vector = {
                **key,
                "vector": each.vectors.astype("<f4").tobytes(),
                "passages": len(each.vectors),
                "spans": None if each.spans is None else each.spans.astype("<i4").tobytes(),
                "truncated": each.truncated,
            }
            vectors.append(vector | {"digest": row_digests.of_vector(vector)})
            for passage, own in enumerate(each.codes or ()):
                code = {**key, "passage": passage, "codes": own, "size": len(own), "error": each.code_error}
                codes.append(code | {"digest": row_digests.of_codes(code)})
    return vectors, codes


def read_page(
    connection: Connection, query: Select[Any], limit: int, most: int = PAGE_BYTES
) -> tuple[list[RowMapping], RowMapping | None]:
    """The first rows of a query, and the row that follows them, if any.

    Args:
        connection: of the transaction.
        query: its rows are read one by one, so that those of later pages take no memory.
        limit: of rows.
        most: characters and bytes of all rows; the first row is read even if it has more.
    """
    page: list[RowMapping] = []
    size = 0
    options = {"stream_results": True, "max_row_buffer": _FETCHED_ROWS}
    with connection.execute(query.limit(limit + 1), execution_options=options) as rows:
        for row in rows.mappings():
            size += _size(row)
            if len(page) == limit or (page and size > most):
                return page, row
            page.append(row)
    return page, None


def _size(row: RowMapping) -> int:
    """Characters and bytes of a row, except of its metadata, which are few."""
    return int(row.get(EMBEDDING_BYTES, 0)) + sum(len(each) for each in row.values() if isinstance(each, str | bytes))


def select_documents(connection: Connection, name: str, ids: Sequence[str]) -> dict[str, Document]:
    """Documents by id; missing and deleted ones are left out."""
    rows = connection.execute(_SELECT_DOCUMENTS, {"of": name, "ids": list(ids)})
    return {row.id: Document(*row) for row in rows}


def documents_at(connection: Connection, collection: Collection, ids: Sequence[str]) -> dict[str, Document]:
    """Documents by id, with the version of their collection if nothing but theirs is later.

    A copy that is about to switch to its next encoder has such documents; their vectors by the former one are kept.
    """
    found, newest = select_documents(connection, collection.name, ids), collection.version.number
    if ahead := [each.id for each in found.values() if each.version > newest]:
        kept = select_vectors(connection, collection.name, ahead, collection.settings.generation)
        found |= {doc_id: replace(found[doc_id], version=newest) for doc_id in kept}
    return found


def select_spans(connection: Connection, collection: Collection, ids: Sequence[str]) -> dict[str, Spans]:
    """Spans of the passages of documents; of those that are one passage, none."""
    if collection.settings.cut is None:
        return {}
    parameters = {"of": collection.name, "ids": list(ids), "generation": collection.settings.generation}
    stored = ((row.id, to_spans(row.spans)) for row in connection.execute(_SELECT_SPANS, parameters))
    return {doc_id: spans for doc_id, spans in stored if spans is not None}


def select_vectors(connection: Connection, name: str, ids: Sequence[str], generation: str) -> dict[str, Floats]:
    """(p, d) vectors of documents; missing and deleted ones are left out."""
    found: dict[str, Floats] = {}
    for start in range(0, len(ids), PASSAGES_PER_QUERY):
        parameters = {"of": name, "ids": ids[start : start + PASSAGES_PER_QUERY], "generation": generation}
        for row in connection.execute(_SELECT_VECTORS, parameters):
            stored = to_vectors(row.vector, row.passages)
            if stored is not None:
                found[row.id] = stored
    return found


def select_codes(
    connection: Connection, name: str, passages: Sequence[PassageKey], generation: str
) -> dict[PassageKey, bytes]:
    """Token codes of passages; missing ones are left out."""
    found: dict[PassageKey, bytes] = {}
    for start in range(0, len(passages), PASSAGES_PER_QUERY):
        part = passages[start : start + PASSAGES_PER_QUERY]
        parameters = {
            "of": name,
            "generation": generation,
            "ids": list({passage.document for passage in part}),
            "passages": [tuple(passage) for passage in part],
        }
        rows = connection.execute(_SELECT_CODES, parameters).all()
        found |= {PassageKey(doc_id, number): codes for doc_id, number, codes in rows}
    return found
