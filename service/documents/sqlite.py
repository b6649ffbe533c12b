"""The embedded database: one SQLite file."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

log = logging.getLogger(__name__)

BUSY_S = 30.0  # how long a writer waits for another to finish
LOG_BYTES = 64 << 20  # the write-ahead log is emptied beyond that; SQLite by itself tries at 4 MB
EMPTYING_S = 1.0  # how long a writer waits for readers to the end of emptying the log; else the next one tries


def sqlite_engine(file: Path) -> Engine:
    """An engine on `file`, which is created with its folder if missing; such a folder is its owner's alone.

    Write-ahead logging lets readers go on during a write; synchronous FULL has every commit on disk before it returns.
    SQLite empties the log only at a moment without readers. Where they overlap there is none, so a writer makes one.

    The texts in a statement stay out of errors, and so out of the log.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": BUSY_S}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver must not start transactions of its own: see _begin
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"journal_size_limit={LOG_BYTES}"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    @event.listens_for(engine, "commit")
    def _note_write(connection: Connection) -> None:
        connection.info["wrote"] = True

    @event.listens_for(engine, "checkin")
    def _after_write(connection: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
        if entry.info.pop("wrote", False) and connection is not None:
            _keep_log_short(connection, file.with_name(f"{file.name}-wal"))

    return engine


def sealed_engine(file: Path) -> Engine:
    """An engine on a file that nobody writes to: it is read as it is, without locks or a log beside it."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def make_whole(file: Path) -> None:
    """Take the log of a database that nobody uses into its file, which can then be moved alone."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def copy_database(file: Path, target: Path) -> None:
    """One state of a database that others may write to meanwhile, in a file that can be moved alone.

    Raises:
        sqlite3.Error: there is none, or the disk is full.
    """
    address = f"{file.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_S)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy)  # in one step: in several, every write of others begins it anew
    make_whole(target)


def _keep_log_short(connection: DBAPIConnection, log_file: Path) -> None:
    """Write a long log into the database and empty it; new readers look into the database alone meanwhile."""
    cursor = connection.cursor()
    try:
        if log_file.stat().st_size > LOG_BYTES:
            cursor.execute(f"PRAGMA busy_timeout={EMPTYING_S * 1000:.0f}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.fetchall()
            cursor.execute(f"PRAGMA busy_timeout={BUSY_S * 1000:.0f}")
    except (OSError, sqlite3.Error) as error:  # what was written is safe in the log
        log.warning("the write-ahead log could not be emptied: %s", error)
    finally:
        cursor.close()
