"""The models that the embedded database needs, read before the database is opened."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_MODELS = "SELECT model FROM collections UNION SELECT next_model FROM collections WHERE next_model IS NOT NULL"


def needed_models(file: Path) -> list[str]:
    """Names of the models of all collections, in order; none if the file cannot be read."""
    if not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            return sorted(name for (name,) in connection.execute(_MODELS))
    except sqlite3.Error:
        return []
