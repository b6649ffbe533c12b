"""Rows of the tables as what the ports name, and back."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, func, select

from semblance.models.embeddings import Floats
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.errors import UnknownCollection, VersionNotReached
from semblance.service.ports.documents import (
    NOTHING_YET,
    Collection,
    CollectionSettings,
    CollectionSize,
    Document,
    Embedded,
    Rollover,
    Version,
)

_ONE = select(collections).where(collections.c.name == bindparam("of"))  # every search asks it: it is put together once


def new_epoch() -> str:
    """The mark of a new life of a collection."""
    return secrets.token_hex(6)


def collection_row(connection: Connection, name: str) -> RowMapping:
    """The row of a collection. Raises UnknownCollection."""
    row = connection.execute(_ONE, {"of": name}).mappings().one_or_none()
    if row is None:
        raise unknown(name)
    return row


def complete_row(connection: Connection, name: str) -> RowMapping:
    """The row of a collection that is all there. Raises UnknownCollection, VersionNotReached: it is being copied."""
    row = collection_row(connection, name)
    if row["version"] == NOTHING_YET:
        raise VersionNotReached(f"collection {name!r} is still being taken over from the database: try again")
    return row


def unknown(name: str) -> UnknownCollection:
    """The error that there is no such collection."""
    return UnknownCollection(f"there is no collection {name!r}: create it with PUT /collections/{name}")


def collection_of(row: RowMapping) -> Collection:
    """A collection from its row."""
    settings = CollectionSettings(**{field.name: row[field.name] for field in fields(CollectionSettings)})
    rollover = None
    if row["next_space"] is not None:
        rollover = Rollover(row["next_model"], row["next_space"], row["next_dim"])
    return Collection(row["name"], Version(row["epoch"], row["version"]), settings, rollover)


def rollover_columns(rollover: Rollover | None) -> dict[str, Any]:
    """The columns of a collection that hold its roll-over."""
    if rollover is None:
        return {"next_model": None, "next_space": None, "next_dim": None}
    return {"next_model": rollover.model, "next_space": rollover.space, "next_dim": rollover.dim}


def size_of(connection: Connection, collection: RowMapping) -> CollectionSize:
    """How much a collection holds, of what its own encoder made."""
    name, space = collection["name"], collection["space"]
    mine = documents.c.collection == name
    count = connection.execute(select(func.count()).where(mine, ~documents.c.deleted)).scalar_one()
    of_codes = select(func.sum(token_codes.c.size), func.max(token_codes.c.error))
    held = (token_codes.c.collection == name, token_codes.c.space == space)
    size, error = connection.execute(of_codes.where(*held)).one()
    each = 4 * collection["dim"] + int(size or 0) / count if count else 0.0
    lacking = 0
    if collection["next_space"] is not None:
        lacking = count_lacking(connection, name, collection["next_space"])
    return CollectionSize(documents=count, bytes_per_document=each, token_error=error, unfilled=lacking)


def lacks(name: str, space: str) -> ColumnElement[bool]:
    """The documents of a collection that the encoder of a space has not embedded."""
    has = select(vectors.c.id).where(
        vectors.c.collection == documents.c.collection, vectors.c.id == documents.c.id, vectors.c.space == space
    )
    return and_(documents.c.collection == name, ~documents.c.deleted, ~has.exists())


def count_lacking(connection: Connection, name: str, space: str) -> int:
    """How many documents lack what the encoder of a space makes of them."""
    return connection.execute(select(func.count()).select_from(documents).where(lacks(name, space))).scalar_one()


def document_of(row: RowMapping) -> Document:
    """A document from its row."""
    return Document(**{field.name: row[field.name] for field in fields(Document)})


def document_row(name: str, document: Document, *, deleted: bool = False) -> dict[str, Any]:
    """The row of a document as it is."""
    return {
        "collection": name,
        "id": document.id,
        "version": document.version,
        "deleted": deleted,
        "text": document.text,
        "truncated": document.truncated,
        "metadata": dict(document.metadata),
    }


def vector_of(stored: bytes | None) -> Floats | None:
    """The (d,) vector of a row, if it has one."""
    return None if stored is None else np.frombuffer(stored, "<f4")


def embedded_rows(
    name: str, made: Iterable[tuple[str, Mapping[str, Embedded]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of vectors and those of token codes, from ids and what encoders made of each by their spaces."""
    vectors: list[dict[str, Any]] = []
    codes: list[dict[str, Any]] = []
    for doc_id, by_space in made:
        for space, each in by_space.items():
            key = {"collection": name, "id": doc_id, "space": space}
            vectors.append({**key, "vector": each.vector.astype("<f4").tobytes()})
            if each.codes is not None:
                codes.append({**key, "codes": each.codes, "size": len(each.codes), "error": each.code_error})
    return vectors, codes
