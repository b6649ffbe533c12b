"""Steps of the transactions that change documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from semblance.service.documents import history
from semblance.service.documents.rows import document_row, embedding_rows, to_collection
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.errors import (
    CollectionDiffers,
    CollectionReplaced,
    DocumentChanged,
    TextChanged,
    VersionMismatch,
)
from semblance.service.ports.documents import (
    Collection,
    CollectionSettings,
    Commit,
    Document,
    DocumentEmbedding,
    Reembedding,
    Version,
    Write,
    unknown_collection,
)
from semblance.service.ports.searched_text import SearchedText

IDS_PER_STATEMENT = 1000


def increment_version(connection: Connection, name: str) -> Collection:
    """Increment the collection's version, which locks its row until the transaction ends.

    Raises UnknownCollection.
    """
    commit = history.new_commit()
    statement = (
        update(collections)
        .where(collections.c.name == name)
        .values(version=collections.c.version + 1, last_commit=commit)
        .returning(*collections.c)
    )
    row = connection.execute(statement).mappings().one_or_none()
    if row is None:
        raise unknown_collection(name)
    history.record(connection, name, [Commit(row["version"], commit)])
    return to_collection(row)


def require_same_encoders(before: Collection, current: Collection) -> None:
    """Raise CollectionReplaced if the epoch or an encoder has changed since the read."""
    if _encoders(before) != _encoders(current):
        raise CollectionReplaced


def require_unchanged(connection: Connection, current: Collection, since: Mapping[str, Version | None]) -> None:
    """Check that documents have not changed since versions, where one is given.

    Raises:
        DocumentChanged: some have.
        VersionMismatch: the collection was never at one of the versions.
    """
    conditions = {doc_id: version for doc_id, version in since.items() if version is not None}
    if not conditions:
        return
    for version in set(conditions.values()):
        if not history.had(connection, current, version):
            raise VersionMismatch(f"collection {current.name!r} was never at if_version {version}: read it again")
    query = select(documents.c.id, documents.c.version).where(
        documents.c.collection == current.name, documents.c.id.in_(list(conditions))
    )
    changed = sorted(row.id for row in connection.execute(query) if row.version > conditions[row.id].number)
    if changed:
        raise DocumentChanged(f"{', '.join(map(repr, changed))} changed since if_version: read again, and retry")


def _encoders(collection: Collection) -> tuple[str, str, Reembedding | None]:
    return collection.version.epoch, collection.settings.generation, collection.reembedding


def update_metadata(connection: Connection, current: Collection, unchanged: Sequence[Document]) -> None:
    """Update metadata of documents. Raises TextChanged if a text or text field differs."""
    if not unchanged:
        return
    condition = (documents.c.collection == current.name, documents.c.id.in_([document.id for document in unchanged]))
    query = select(documents.c.id, documents.c.text, documents.c.metadata, documents.c.truncated)
    stored = {row.id: row for row in connection.execute(query.where(*condition, ~documents.c.deleted))}
    text_fields = current.settings.text_fields
    for document in unchanged:
        row = stored.get(document.id)
        if row is None or SearchedText.of(row.text, row.metadata, text_fields) != document.searched(text_fields):
            raise TextChanged
    kept = [replace(each, truncated=stored[each.id].truncated, version=current.version.number) for each in unchanged]
    update_documents(connection, current.name, kept)


def update_documents(connection: Connection, name: str, changed: Sequence[Document]) -> None:
    """Update documents whose text is as stored."""
    columns = ("version", "truncated", "metadata", "digest")
    statement = (
        update(documents)
        .where(documents.c.collection == name, documents.c.id == bindparam("of"))
        .values({column: bindparam(f"new_{column}") for column in columns})
    )
    rows = [document_row(name, document) for document in changed]
    connection.execute(
        statement, [{"of": row["id"], **{f"new_{column}": row[column] for column in columns}} for row in rows]
    )


def replace_documents(
    connection: Connection, name: str, embedded: Sequence[tuple[Document, Mapping[str, DocumentEmbedding]]]
) -> None:
    """Store documents with their embeddings by generation, in place of those with the same ids."""
    if not embedded:
        return
    delete_documents(connection, name, [document.id for document, _ in embedded])
    connection.execute(insert(documents), [document_row(name, document) for document, _ in embedded])
    insert_embeddings(connection, name, [(document.id, embeddings) for document, embeddings in embedded])


def mark_deleted(
    connection: Connection, current: Collection, ids: Sequence[str], unchanged_since: Version | None = None
) -> int:
    """Delete documents, if they have not changed, and return how many.

    Their rows stay, so that indexes and copies see the deletion.
    """
    count = 0
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        some = [documents.c.collection == current.name, documents.c.id.in_(ids[start : start + IDS_PER_STATEMENT])]
        if unchanged_since is not None:
            some.append(documents.c.version <= unchanged_since.number)
        statement = (
            update(documents)
            .where(*some, ~documents.c.deleted)
            .values(deleted=True, text="", metadata={}, digest=None, version=current.version.number)
            .returning(documents.c.id)
        )
        deleted = connection.execute(statement).scalars().all()
        for table in (vectors, token_codes):
            connection.execute(delete(table).where(table.c.collection == current.name, table.c.id.in_(deleted)))
        count += len(deleted)
    return count


def delete_documents(connection: Connection, name: str, ids: Sequence[str]) -> None:
    """Delete documents and their embeddings."""
    connection.execute(delete(documents).where(documents.c.collection == name, documents.c.id.in_(ids)))


def insert_embeddings(
    connection: Connection, name: str, embeddings: Iterable[tuple[str, Mapping[str, DocumentEmbedding]]]
) -> None:
    """Store embeddings by document id and generation."""
    vector_rows, code_rows = embedding_rows(name, embeddings)
    if vector_rows:
        connection.execute(insert(vectors), vector_rows)
    if code_rows:
        connection.execute(insert(token_codes), code_rows)


def delete_other_generations(connection: Connection, name: str, generations: Iterable[str]) -> None:
    """Delete the embeddings of all generations but these."""
    for table in (vectors, token_codes):
        connection.execute(delete(table).where(table.c.collection == name, table.c.space.not_in(list(generations))))


def embedded(write: Write, current: Collection) -> tuple[Document, Mapping[str, DocumentEmbedding]]:
    """The document as stored, and its embeddings by generation."""
    assert write.embedding is not None
    document = replace(write.document, truncated=write.embedding.truncated, version=current.version.number)
    embeddings = {current.settings.generation: write.embedding}
    if current.reembedding is not None and write.next_embedding is not None:
        embeddings[current.reembedding.generation] = write.next_embedding
    return document, embeddings


def _as_sent(settings: CollectionSettings) -> dict[str, object]:
    """The settings by the names and values that requests have."""
    fields = asdict(settings)
    tokens, overlap = fields.pop("passage_tokens"), fields.pop("passage_overlap")
    return {**fields, "passages": "none" if tokens is None else {"tokens": tokens, "overlap": overlap}}


def settings_differ(name: str, existing: CollectionSettings, new: CollectionSettings) -> CollectionDiffers:
    """Error for a collection that exists with other settings."""
    differences = ", ".join(
        f"{field} {json.dumps(ours)}, not {json.dumps(theirs)}"
        for (field, ours), theirs in zip(_as_sent(existing).items(), _as_sent(new).values(), strict=True)
        if ours != theirs
    )
    return CollectionDiffers(f"collection {name!r} exists with {differences}: delete it first, or choose another name")
