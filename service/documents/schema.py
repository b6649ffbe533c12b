"""The tables, the same on every database."""

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
)

metadata = MetaData()

NAME = String().with_variant(String(collation="C"), "postgresql")  # in the order of code points on every database

collections = Table(
    "collections",
    metadata,
    Column("name", NAME, primary_key=True),
    Column("epoch", String, nullable=False),  # new whenever the collection is made anew
    Column("version", Integer, nullable=False),  # one more with every write; its row is the lock of all writers
    Column("model", String, nullable=False),
    Column("space", String, nullable=False),
    Column("dim", Integer, nullable=False),
    Column("measure", String, nullable=False),
    Column("index", String, nullable=False),
    Column("tokens", String, nullable=False),
    Column("next_model", String),  # the encoder of a roll-over: all three, or none
    Column("next_space", String),
    Column("next_dim", Integer),
)

documents = Table(
    "documents",
    metadata,
    Column("collection", ForeignKey("collections.name", ondelete="CASCADE"), primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("version", Integer, nullable=False),  # the collection's version that last touched it
    Column("deleted", Boolean, nullable=False),  # a deleted row stays, so that followers hear of it
    Column("text", Text, nullable=False),
    Column("truncated", Boolean, nullable=False),  # the encoder took only part of the text
    Column("metadata", JSON, nullable=False),
    Index("documents_by_version", "collection", "version", "id"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("collection", NAME, primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("space", NAME, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # (d,) little-endian float32 at unit length
    ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
)

token_codes = Table(
    "token_codes",
    metadata,
    Column("collection", NAME, primary_key=True),
    Column("id", NAME, primary_key=True),
    Column("space", NAME, primary_key=True),
    Column("size", Integer, nullable=False),  # bytes of `codes`, so that sums need not read them
    Column("error", Float, nullable=False),
    Column("codes", LargeBinary, nullable=False),  # semblance.models.measures.quantized_tokens
    ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
)
