"""Aliases of collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

NAME = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "aliases",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("collection", NAME, sa.ForeignKey("collections.name", ondelete="CASCADE"), nullable=False),
    )
