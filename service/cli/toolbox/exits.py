"""Exits with a message instead of a traceback for failures that the operator can fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from semblance.models.errors import SemblanceError


@contextmanager
def exit_on_failure(summary: str) -> Iterator[None]:
    """Exit with `summary` and the reason if the block fails on the store or the disk."""
    try:
        yield
    except (SemblanceError, OSError, sqlite3.Error) as error:
        raise SystemExit(f"{summary}: {error}") from error
    except DBAPIError as error:  # its own text would contain the SQL statement
        raise SystemExit(f"{summary}: {error.orig}") from error
