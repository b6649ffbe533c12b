"""The number type in which the vectors of a collection are computed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add columns. That of former collections is not known."""
    for prefix in ("", "next_"):
        op.add_column("collections", sa.Column(f"{prefix}precision", sa.String))
