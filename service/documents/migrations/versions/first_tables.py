"""Collections, documents, vectors and token codes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "collections",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("epoch", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("space", sa.String, nullable=False),
        sa.Column("dim", sa.Integer, nullable=False),
        sa.Column("measure", sa.String, nullable=False),
        sa.Column("index", sa.String, nullable=False),
        sa.Column("tokens", sa.String, nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("collection", NAME, sa.ForeignKey("collections.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("id", NAME, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("metadata", sa.JSON, nullable=False),
    )
    op.create_index("documents_by_version", "documents", ["collection", "version", "id"])
    _create_embeddings_table("vectors", sa.Column("vector", sa.LargeBinary, nullable=False))
    _create_embeddings_table(
        "token_codes",
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("error", sa.Float, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
    )


def _create_embeddings_table(name: str, *columns: sa.Column[object]) -> None:
    op.create_table(
        name,
        sa.Column("collection", NAME, primary_key=True),
        sa.Column("id", NAME, primary_key=True),
        sa.Column("space", NAME, primary_key=True),
        *columns,
        sa.ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
    )
