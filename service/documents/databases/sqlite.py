"""SQLite, the embedded database: engines, and operations on its file."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

log = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 30.0  # of a writer that waits for another one
MAX_LOG_BYTES = 64 << 20  # size at which the write-ahead log is truncated; SQLite tries at 4 MB, if there is no reader
TRUNCATE_TIMEOUT_S = 1.0  # of a writer that waits for readers to truncate the log; then the next writer tries


def sqlite_engine(file: Path) -> Engine:
    """Create an engine on `file`; a missing folder is created for its owner only.

    With write-ahead logging, writers do not block readers; with synchronous FULL, a commit is on disk when it returns.
    SQLite truncates the log only when there is no reader. Overlapping readers leave no such moment, so a writer makes
    one. Errors omit the parameters of statements, so that no document text reaches the log.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": BUSY_TIMEOUT_S}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # `_begin` starts transactions, not the driver
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"journal_size_limit={MAX_LOG_BYTES}",
        ):
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
            _truncate_log(connection, file.with_name(f"{file.name}-wal"))

    return engine


def has_tables(file: Path) -> bool:
    """Whether `file` is a database that was used before; a damaged one counts."""
    if not file.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            return connection.execute("SELECT name FROM sqlite_master").fetchone() is not None
    except sqlite3.Error:
        return True


def read_only_engine(file: Path) -> Engine:
    """Create an engine on a file that no process writes to, without locks or new files."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def merge_log(file: Path) -> None:
    """Merge the write-ahead log of an unused database into its file, which can then be moved."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def merge_log_in_use(engine: Engine) -> None:
    """Merge the write-ahead log into the file as far as no reader needs it, without waiting."""
    try:
        with closing(engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    except (sqlite3.Error, SQLAlchemyError) as error:
        log.warning("the write-ahead log could not be merged: %s", error)


def copy_database(file: Path, target: Path) -> None:
    """Copy one state of a database, which may be in use, to a file that can be moved alone.

    Raises:
        sqlite3.Error: there is no database, or the disk is full.
    """
    address = f"{file.resolve().as_uri()}?mode=rw"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_S)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.backup(copy)  # in one step: between several, any write would restart it
    merge_log(target)


def _truncate_log(connection: DBAPIConnection, log_file: Path) -> None:
    """Merge a long log into the database and truncate it."""
    cursor = connection.cursor()
    try:
        if log_file.stat().st_size > MAX_LOG_BYTES:
            cursor.execute(f"PRAGMA busy_timeout={TRUNCATE_TIMEOUT_S * 1000:.0f}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.fetchall()
            cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_S * 1000:.0f}")
    except (OSError, sqlite3.Error) as error:  # committed writes are safe in the log
        log.warning("the write-ahead log could not be truncated: %s", error)
    finally:
        cursor.close()
