"""Exits with a message instead of a traceback for failures that the operator can fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from semblance.models.errors import SemblanceError

REFUSAL = "cannot serve"


@contextmanager
def exit_on(*failures: type[Exception], stopped: str | None = None) -> Iterator[None]:
    """Exit with the message of such a failure; with `stopped`, that is the message of Ctrl-C."""
    try:
        yield
    except failures as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        if stopped is None:
            raise
        raise SystemExit(stopped) from None


@contextmanager
def exit_on_failure(summary: str) -> Iterator[None]:
    """Exit with `summary` and the reason if the block fails on the store or the disk."""
    try:
        yield
    except Exception as error:
        reason = reason_for_operator(error)
        if reason is None:
            raise
        raise SystemExit(f"{summary}: {reason}") from error


def reason_for_operator(error: Exception) -> str | None:
    """Why the store or the disk failed; None for an error that a programmer has to fix."""
    from sqlalchemy.exc import DBAPIError  # noqa: PLC0415 - most verbs need no database

    if refusal := getattr(error, "refusal", ""):
        return f"{refusal}: correct SEMBLANCE_DATABASE_URL, or the database"
    if isinstance(error, DBAPIError):  # its own text would contain the SQL statement
        return str(error.orig)
    return str(error) if isinstance(error, SemblanceError | OSError | sqlite3.Error) else None
