"""Commits of a collection, a random id for each write; digests of rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Add columns and a table. What was written before has neither commit nor digest."""
    for table in ("documents", "vectors", "token_codes"):
        op.add_column(table, sa.Column("digest", sa.LargeBinary))
    op.add_column("collections", sa.Column("last_commit", sa.String, nullable=False, server_default=""))
    op.create_table(
        "commits",
        sa.Column("collection", NAME, sa.ForeignKey("collections.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String, nullable=False),
    )
