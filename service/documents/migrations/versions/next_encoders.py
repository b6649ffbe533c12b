"""The next encoder of a collection."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("collections", sa.Column("next_model", sa.String))
    op.add_column("collections", sa.Column("next_space", sa.String))
    op.add_column("collections", sa.Column("next_dim", sa.Integer))
