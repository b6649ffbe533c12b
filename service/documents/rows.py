"""Convert rows of the tables to the types of the ports, and back."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, func, select

from semblance.models.embeddings import Floats
from semblance.service.documents import row_digests
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.errors import UnknownCollection, VersionNotReached, shorten
from semblance.service.names import RULE, is_name
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    Collection,
    CollectionSettings,
    CollectionSize,
    Document,
    DocumentEmbedding,
    Reembedding,
    Version,
)

_SHOWN_CHARS = 100  # of a name in a message

_SELECT_COLLECTION = select(collections).where(
    collections.c.name == bindparam("of")
)  # built once: every search runs it


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


def unknown_collection(name: str) -> UnknownCollection:
    """Error for a collection that does not exist, or cannot exist under that name."""
    if not is_name(name):
        return UnknownCollection(f"there can be no collection {shorten(name, _SHOWN_CHARS)!r}: {RULE}")
    return UnknownCollection(f"there is no collection {name!r}: create it with PUT /collections/{name}")


def to_collection(row: RowMapping) -> Collection:
    """Convert a row to a collection."""
    settings = CollectionSettings(**{field.name: row[field.name] for field in fields(CollectionSettings)})
    reembedding = None
    if row["next_space"] is not None:
        reembedding = Reembedding(row["next_model"], row["next_space"], row["next_dim"])
    return Collection(row["name"], Version(row["epoch"], row["version"], row["last_commit"]), settings, reembedding)


def reembedding_columns(reembedding: Reembedding | None) -> dict[str, Any]:
    """Columns of a collection for its re-embedding."""
    if reembedding is None:
        return {"next_model": None, "next_space": None, "next_dim": None}
    return {"next_model": reembedding.model, "next_space": reembedding.space, "next_dim": reembedding.dim}


def collection_size(connection: Connection, collection: RowMapping) -> CollectionSize:
    """Size of a collection: its documents, and their embeddings by its own encoder."""
    name, space = collection["name"], collection["space"]
    counts = select(func.count(), func.count().filter(documents.c.truncated))
    count, truncated = connection.execute(counts.where(documents.c.collection == name, ~documents.c.deleted)).one()
    codes = select(func.sum(token_codes.c.size), func.max(token_codes.c.error))
    own = (token_codes.c.collection == name, token_codes.c.space == space)
    size, error = connection.execute(codes.where(*own)).one()
    mean_bytes = 4 * collection["dim"] + int(size or 0) / count if count else 0.0
    unfilled = 0
    if collection["next_space"] is not None:
        unfilled = count_unfilled(connection, name, collection["next_space"])
    return CollectionSize(
        documents=count, truncated=truncated, bytes_per_document=mean_bytes, token_error=error, unfilled=unfilled
    )


def is_unfilled(name: str, space: str) -> ColumnElement[bool]:
    """Condition: a document of the collection has no embedding in a space."""
    embedding = select(vectors.c.id).where(
        vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id, vectors.c.space == space
    )
    return and_(documents.c.collection == name, ~documents.c.deleted, ~embedding.exists())


def count_unfilled(connection: Connection, name: str, space: str) -> int:
    """Number of documents without an embedding in a space."""
    return connection.execute(select(func.count()).select_from(documents).where(is_unfilled(name, space))).scalar_one()


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


def to_vector(stored: bytes | None) -> Floats | None:
    """Convert stored bytes to a (d,) vector, if there are any."""
    return None if stored is None else np.frombuffer(stored, "<f4")


def embedding_rows(
    name: str, embeddings: Iterable[tuple[str, Mapping[str, DocumentEmbedding]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Convert embeddings by document id and space to rows of vectors, and of token codes."""
    vectors: list[dict[str, Any]] = []
    codes: list[dict[str, Any]] = []
    for doc_id, by_space in embeddings:
        for space, each in by_space.items():
            key = {"collection": name, "id": doc_id, "space": space}
            vector = {**key, "vector": each.vector.astype("<f4").tobytes()}
            vectors.append(vector | {"digest": row_digests.of_vector(vector)})
            if each.codes is not None:
                code = {**key, "codes": each.codes, "size": len(each.codes), "error": each.code_error}
                codes.append(code | {"digest": row_digests.of_codes(code)})
    return vectors, codes
