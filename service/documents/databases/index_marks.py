"""Marks of a remote index in PostgreSQL, and the lock of the process that fills it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, RowMapping, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from semblance.service.documents.database import CHANNEL, Database, DatabaseHealth
from semblance.service.documents.rows import select_collection, to_collection
from semblance.service.documents.schema import index_marks
from semblance.service.errors import StoreUnavailable
from semblance.service.ports.documents import Collection, Version
from semblance.service.ports.remote_index import IndexMark

_LOCK_ID = 7_136_523_170_113  # of an advisory lock; an arbitrary number

Result = TypeVar("Result")


class StoredMarks:
    """`IndexMarks` of a database."""

    def __init__(self, engine: Engine, health: DatabaseHealth) -> None:
        self._database = Database(engine, health)

    def read(self, name: str) -> tuple[Collection, Mapping[str, IndexMark]]:
        """A collection and the marks of its generations at one moment. Raises UnknownCollection."""
        with self._database.reading() as connection:
            collection = to_collection(select_collection(connection, name))
            rows = connection.execute(select(index_marks).where(index_marks.c.collection == name)).mappings()
            return collection, {row["key"]: _mark(row) for row in rows}


class LockedMarks:
    """`IndexLeadership` by a lock of a session of PostgreSQL, which ends with its connection.

    Marks are set on that connection, so that a process whose lock was lost can set none.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        """Whether this process has the lock, after trying to get it."""
        try:
            if self._connection is not None:
                self._connection.execute(select(1))
                return True
            connection = self._engine.connect()
        except SQLAlchemyError:
            self.release()
            return False
        self._connection = connection
        try:
            if connection.execute(select(func.pg_try_advisory_lock(_LOCK_ID))).scalar_one():
                return True
        except SQLAlchemyError:
            pass
        self.release()
        return False

    def marks(self) -> dict[str, IndexMark]:
        """All marks by key. Raises StoreUnavailable."""
        return self._run(
            lambda connection: {row["key"]: _mark(row) for row in connection.execute(select(index_marks)).mappings()}
        )

    def set(self, mark: IndexMark) -> None:
        """Store a mark, and notify those who wait for it. Raises StoreUnavailable."""

        def store(connection: Connection) -> None:
            row = _row(mark)
            connection.execute(insert(index_marks).values(row).on_conflict_do_update(index_marks.primary_key, set_=row))
            connection.execute(select(func.pg_notify(CHANNEL, mark.collection)))

        self._run(store)

    def remove(self, key: str) -> None:
        """Delete a mark. Raises StoreUnavailable."""
        self._run(lambda connection: connection.execute(delete(index_marks).where(index_marks.c.key == key)))

    def release(self) -> None:
        """Give up the lock, with its connection."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _run(self, act: Callable[[Connection], Result]) -> Result:
        if self._connection is None:
            raise _lost()
        try:
            return act(self._connection)
        except SQLAlchemyError as error:
            self.release()
            raise _lost() from error


def _lost() -> StoreUnavailable:
    return StoreUnavailable("the connection that fills the index is lost: try again")


def _mark(row: RowMapping) -> IndexMark:
    version = Version(row["epoch"], row["version"], row["last_commit"])
    return IndexMark(row["key"], row["collection"], version, row["complete"])


def _row(mark: IndexMark) -> dict[str, Any]:
    return {
        "key": mark.key,
        "collection": mark.collection,
        "epoch": mark.version.epoch,
        "version": mark.version.number,
        "last_commit": mark.version.commit,
        "complete": mark.complete,
    }
