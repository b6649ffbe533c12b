"""The embedded database: one SQLite file."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

BUSY_S = 30.0  # how long a writer waits for another to finish


def sqlite_engine(file: Path) -> Engine:
    """An engine on `file`, which is created with its folder if missing.

    Write-ahead logging lets readers go on during a write; synchronous FULL has every commit on disk before it returns.
    The texts in a statement stay out of errors, and so out of the log.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": BUSY_S}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver must not start transactions of its own: see _begin
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine
