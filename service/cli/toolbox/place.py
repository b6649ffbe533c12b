"""The place of the documents, in words."""

from __future__ import annotations

from semblance.service.addresses import place_of
from semblance.service.settings import Settings


def place(settings: Settings) -> str:
    """Where the documents are stored: a database without its password, or a folder."""
    if settings.database_url.get_secret_value():
        return f"PostgreSQL {place_of(settings.database_url)}"
    return str(settings.database_file.parent)
