"""The glossary of a collection."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column, empty for former collections."""
    op.add_column("collections", sa.Column("glossary", sa.Text, nullable=False, server_default=""))
