"""Tables, the same on every database."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()

NAME = String().with_variant(String(collation="C"), "postgresql")  # sorted by code points on every database


def _digest() -> Column[bytes]:
    """Digest of the row's content, by row_digests.py; null if an earlier release wrote it."""
    return Column("digest", LargeBinary)


collections = Table(
    "collections",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("epoch", String, nullable=False),  # new whenever the collection is created
    Column("version", Integer, nullable=False),  # incremented by every write, which locks the row against other writers
    Column("last_commit", String, nullable=False),  # random id of the last write; empty before the first
    Column("model", String, nullable=False),
    Column("space", String, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("measure", String, nullable=False),
    Column("index", String, nullable=False),
    Column("tokens", String, nullable=False),
    Column("passage_tokens", Integer),  # null where a document is one passage
    Column("passage_overlap", Integer, nullable=False, server_default="0"),
    Column("precision", String),  # null if an earlier release created it
    Column("next_model", String),  # the next encoder during a re-embedding, else all of these are null or 0
    Column("next_space", String),
    Column("next_dim", Integer),
    Column("next_passage_tokens", Integer),
    Column("next_passage_overlap", Integer, nullable=False, server_default="0"),
    Column("next_precision", String),
    Column("glossary", Text, nullable=False, server_default=""),  # JSON, as PUT has it; empty without one
    Column("text_fields", JSON, nullable=False, server_default="[]"),  # names of metadata fields
)

aliases = Table(
    "aliases",
    metadata,
    Column("name", NAME, primary_key=True),  # never that of a collection
    Column("collection", NAME, ForeignKey("collections.name", ondelete="CASCADE"), nullable=False),
)

commits = Table(
    "commits",
    metadata,
    Column("collection", ForeignKey("collections.name", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("id", String, nullable=False),  # random
)

documents = Table(
    "documents",
    metadata,
    Column("collection", ForeignKey("collections.name", ondelete="CASCADE"), primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("version", Integer, nullable=False),  # of the collection when the document last changed
    Column("deleted", Boolean, nullable=False),  # the row stays, so that indexes and copies see the deletion
    Column("text", Text, nullable=False),
    Column("truncated", Boolean, nullable=False),  # the encoder read only part of the text
    Column("metadata", JSON, nullable=False),
    _digest(),
    Index("documents_by_version", "collection", "version", "id"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("collection", NAME, primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("space", NAME, primary_key=True),  # Collection.generation: the encoder, and how texts are cut
    Column("vector", LargeBinary, nullable=False),  # (passages, d) little-endian float32, rows at unit length
    Column("passages", Integer, nullable=False, server_default="1"),
    Column("spans", LargeBinary),  # (passages, 2) little-endian int32, places in SearchedText; null for one passage
    Column("truncated", Boolean),  # as in `documents`, which has that of the present encoder; null for earlier releases
    _digest(),
    ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
)

vectors_of_passages = Index(  # counts passages without reading vectors; postgresql.py restricts it there
    "vectors_of_passages",
    vectors.c.collection,
    vectors.c.space,
    vectors.c.passages,
    sqlite_where=text("passages > 1"),
)

token_codes = Table(
    "token_codes",
    metadata,
    Column("collection", NAME, primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("space", NAME, primary_key=True),
    Column("passage", Integer, primary_key=True, autoincrement=False, server_default="0"),
    Column("size", Integer, nullable=False),  # bytes of `codes`, for sums that need not read them
    Column("error", Float, nullable=False),
    Column("codes", LargeBinary, nullable=False),  # semblance.models.alignment.quantized_tokens
    _digest(),
    ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
)

index_marks = Table(
    "index_marks",
    metadata,
    Column("key", String, primary_key=True),  # of a collection on the server of a remote index
    Column("collection", NAME, nullable=False),  # which may be gone: then what is left on the server is deleted
    Column("epoch", String, nullable=False),
    Column("version", Integer, nullable=False),  # up to which the server has acknowledged all changes
    Column("last_commit", String, nullable=False),
    Column("complete", Boolean, nullable=False),
)
