"""Recognize failures of a database by the codes of its driver."""

from __future__ import annotations

import json
import re
import sqlite3

from sqlalchemy.exc import DBAPIError

from semblance.models.errors import SemblanceError
from semblance.service.errors import StoreDamaged, StoreFailed, StoreFull, StoreUnavailable

_UNREACHABLE = ("08", "57P")  # classes of SQLSTATE: connection exception, operator intervention
_DISK_FULL = "53100"  # SQLSTATE
_NOT_UTF_8 = "Could not decode to UTF-8"  # of the driver, without a code

_REFUSAL = re.compile(  # of a connection, for which the driver has no code
    "does not exist|authentication failed|pg_hba.conf|not permitted|does not support SSL|certificate|no password"
)
_AWAY = re.compile("refused|resolve|timeout|timed out|unreachable")  # of one of several servers

# codes of SQLite, of which some have details in the upper bytes
_DAMAGED = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
)
_FAILED = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_FULL = (sqlite3.SQLITE_FULL,)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def failure_of_file(error: Exception) -> SemblanceError | None:
    """The failure behind an error of SQLite; None if the statement was wrong."""
    if isinstance(error, json.JSONDecodeError):  # metadata is the only JSON in a row, and was valid when written
        return StoreDamaged("the document store is damaged: it has metadata that is not JSON")
    if not isinstance(error, DBAPIError):
        return None
    if _NOT_UTF_8 in str(error.orig):
        return StoreDamaged("the document store is damaged: it has text that is not UTF-8")
    code = getattr(error.orig, "sqlite_errorcode", 0)
    meanings = {
        _DAMAGED: StoreDamaged(f"the document store is damaged: {error.orig}"),
        _FULL: StoreFull("the disk of the document store is full, and nothing was stored: free some space, then retry"),
        _FAILED: StoreFailed(f"the document store cannot be read or written: {error.orig}"),
        _BUSY: StoreUnavailable("another process has locked the document store, and nothing was stored: try again"),
    }
    return next((failure for codes, failure in meanings.items() if code in codes or code & 0xFF in codes), None)


def failure_of_server(error: Exception) -> SemblanceError:
    """The failure behind a transient error of a database server."""
    if _sqlstate(error) == _DISK_FULL:
        return StoreFull("the disk of the database is full, and nothing was stored: free some space, then retry")
    text = str(error.orig) if isinstance(error, DBAPIError) and is_unreachable(error) else ""
    refusal = text if _REFUSAL.search(text) and not _AWAY.search(text) else ""
    return StoreUnavailable("the database does not answer, or not in time: try again", refusal)


def is_unreachable(error: Exception) -> bool:
    """Whether the server is away or shuts down; an error or a lock timeout is a response."""
    state = _sqlstate(error)
    return isinstance(error, DBAPIError) and (state is None or state.startswith(_UNREACHABLE))


def _sqlstate(error: Exception) -> str | None:
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return state if isinstance(state, str) else None
