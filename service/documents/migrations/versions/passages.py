"""Passages: several vectors and token codes of one document."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KEY = ["collection", "id", "space", "passage"]


def upgrade() -> None:
    """Add columns. Former collections keep one passage a document until they are re-embedded."""
    for prefix in ("", "next_"):
        op.add_column("collections", sa.Column(f"{prefix}passage_tokens", sa.Integer))
        op.add_column(
            "collections", sa.Column(f"{prefix}passage_overlap", sa.Integer, nullable=False, server_default="0")
        )
    op.add_column("vectors", sa.Column("passages", sa.Integer, nullable=False, server_default="1"))
    op.add_column("vectors", sa.Column("spans", sa.LargeBinary))
    op.add_column("vectors", sa.Column("truncated", sa.Boolean))
    op.create_index(
        "vectors_of_passages",
        "vectors",
        ["collection", "space", "passages"],
        sqlite_where=sa.text("passages > 1"),
        postgresql_where=sa.text("passages > 1"),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("token_codes", sa.Column("passage", sa.Integer, nullable=False, server_default="0"))
        op.drop_constraint("token_codes_pkey", "token_codes")
        op.create_primary_key("token_codes_pkey", "token_codes", KEY)
    else:
        _copy_token_codes()


def _copy_token_codes() -> None:
    """Copy the table to one with the new key, since SQLite cannot change a key."""
    op.rename_table("token_codes", "former_token_codes")
    op.create_table(
        "token_codes",
        sa.Column("collection", sa.String, primary_key=True),
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("space", sa.String, primary_key=True),
        sa.Column("passage", sa.Integer, primary_key=True, autoincrement=False, server_default="0"),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("error", sa.Float, nullable=False),
        sa.Column("codes", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary),
        sa.ForeignKeyConstraint(["collection", "id"], ["documents.collection", "documents.id"], ondelete="CASCADE"),
    )
    op.execute(
        "INSERT INTO token_codes (collection, id, space, size, error, codes, digest) "
        "SELECT collection, id, space, size, error, codes, digest FROM former_token_codes"
    )
    op.drop_table("former_token_codes")
