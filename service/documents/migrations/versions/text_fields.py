"""Metadata fields of a collection that are searched as text."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add a column, empty for former collections."""
    op.add_column("collections", sa.Column("text_fields", sa.JSON, nullable=False, server_default="[]"))
