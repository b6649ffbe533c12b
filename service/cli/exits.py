"""What goes wrong in commands that copy stores, as a sentence instead of a trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from semblance.models.errors import SemblanceError


@contextmanager
def said(what: str) -> Iterator[None]:
    """End the program with `what` and the reason where the block fails for one that the operator can mend."""
    try:
        yield
    except (SemblanceError, OSError, sqlite3.Error) as error:
        raise SystemExit(f"{what}: {error}") from error
    except DBAPIError as error:  # without the statement
        raise SystemExit(f"{what}: {error.orig}") from error
