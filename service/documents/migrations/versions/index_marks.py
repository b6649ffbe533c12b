"""Marks of a remote index: up to which version it has the changes of a collection."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "index_marks",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("collection", NAME, nullable=False),
        sa.Column("epoch", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("last_commit", sa.String, nullable=False),
        sa.Column("complete", sa.Boolean, nullable=False),
    )
