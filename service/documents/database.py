"""Database connections: consistent reads, atomic writes, and server health."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from semblance.service import threads
from semblance.service.documents.databases.disk_reserve import DiskReserve
from semblance.service.documents.databases.failures import failure_of_file, failure_of_server, is_unreachable
from semblance.service.documents.databases.sqlite import merge_log_in_use
from semblance.service.documents.migrations import migrate
from semblance.service.errors import StoreDamaged, StoreFailed, StoreFull, StoreUnavailable

log = logging.getLogger(__name__)

CHANNEL = "semblance_changes"  # of PostgreSQL notifications; the payload is the name of a changed collection
TRANSIENT_ERRORS = (OperationalError, InterfaceError, InternalError, PoolTimeout)  # a retry may succeed


class DatabaseHealth:
    """Whether a database server is reachable, and since when it is not. Thread-safe.

    Args:
        timeout_s: a query that has waited for that long counts as failed, although it is still waiting.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._started: dict[int, float] = {}  # start times of running queries
        self._next = 0
        self._failed = False
        self._last_answer = time.monotonic()

    @contextmanager
    def query(self) -> Iterator[None]:
        """Count a query as running for the time of the block."""
        with self._lock:
            self._next += 1
            number = self._next
            self._started[number] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._started[number]

    def record(self, *, answered: bool) -> bool:
        """Record the outcome of the last query; returns whether it differs from the one before."""
        with self._lock:
            changed = self._failed == answered
            self._failed = not answered
            if answered:
                self._last_answer = time.monotonic()
            return changed

    @property
    def healthy(self) -> bool:
        """Whether the last query succeeded, and no running one exceeds the timeout."""
        with self._lock:
            oldest = min(self._started.values(), default=None)
            late = oldest is not None and time.monotonic() - oldest > self._timeout_s
            return not self._failed and not late

    @property
    def seconds_since_answer(self) -> float:
        """Seconds since the last response, or since the start."""
        return time.monotonic() - self._last_answer


class Database:
    """Transactions on an engine. Its tables are migrated before the first use.

    Args:
        engine: of the database.
        health: records whether a database server is reachable.
        on_damage: called when a part of a SQLite file turns out to be damaged, in any thread.
        reserve: space for deletions while the disk of a SQLite file is full.

    Attributes:
        writable: whether the last transaction that changed documents met no failure of the disk.

    Raises, from either block:
        StoreTooNew: the tables are those of a later release.
        StoreUnavailable: a database server cannot be reached, or did not respond in time.
        StoreFull, StoreFailed, StoreDamaged: see semblance.service.errors.
    """

    def __init__(
        self,
        engine: Engine,
        health: DatabaseHealth | None = None,
        on_damage: Callable[[], None] = lambda: None,
        reserve: DiskReserve | None = None,
    ) -> None:
        self.engine = engine
        self.is_server = engine.dialect.name != "sqlite"
        repeatable = engine.execution_options(isolation_level="REPEATABLE READ")
        self._reader = repeatable if self.is_server else engine  # a transaction of SQLite sees one state anyway
        self._health = health or DatabaseHealth(timeout_s=float("inf"))
        self._migration_lock = threading.Lock()
        self._migrated = False
        self._on_damage = on_damage
        self._reserve = reserve
        self.writable = True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Connection that sees one state of the database for the time of the block."""
        with self._query(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *names: str, long: bool = False) -> Iterator[Connection]:
        """Transaction that changes these collections; listeners are notified when it commits.

        With `long`, its statements have no timeout. After the caller's deadline nothing is committed: the client was
        told that the write failed, so it must not overwrite what was stored since.
        """
        with self._watched_write(), self._query(), self.engine.begin() as connection:
            if long and self.is_server:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            yield connection
            self.notify(connection, names)
            if threads.expired():
                raise StoreUnavailable("the database was too slow, and nothing was stored: try again")

    @contextmanager
    def deleting(self, name: str, *, long: bool = False) -> Iterator[Connection]:
        """As `writing`, also while the disk has no space but what is kept for deletions."""
        if self._reserve is None or (self.writable and not self._reserve.is_needed):
            with self.writing(name, long=long) as connection:
                yield connection
            return
        with self._reserve.given():
            merge_log_in_use(self.engine)
            with self.writing(name, long=long) as connection:
                yield connection

    def notify(self, connection: Connection, names: Iterable[str]) -> None:
        """Notify listeners of more collections that the transaction changes."""
        if self.is_server:
            for name in names:
                connection.execute(select(func.pg_notify(CHANNEL, name)))

    def integrity_errors(self) -> list[str]:
        """Errors that SQLite finds in its file; none for a server, which checks its own files."""
        if self.is_server:
            return []
        try:
            with self.reading() as connection:
                messages = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check")]
                orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        except (StoreDamaged, StoreFailed) as error:  # too damaged for the check
            return [str(error)]
        errors = [f"the database is damaged: {message}" for message in messages if message != "ok"]
        return errors + [f"a row of table {row[0]} refers to a missing row" for row in orphans]

    @contextmanager
    def _watched_write(self) -> Iterator[None]:
        try:
            yield
        except (StoreFull, StoreFailed, StoreDamaged):
            self.writable = False
            raise
        self.writable = True

    @contextmanager
    def _query(self) -> Iterator[None]:
        with self._query_server() if self.is_server else self._query_file():
            self._migrate_once()
            yield

    @contextmanager
    def _query_file(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            failure = failure_of_file(error)
            if failure is None:
                raise
            log.warning("%s", failure)
            if isinstance(failure, StoreDamaged):
                self._on_damage()
            raise failure from error

    @contextmanager
    def _query_server(self) -> Iterator[None]:
        with self._health.query():
            try:
                yield
            except TRANSIENT_ERRORS as error:
                if self._health.record(answered=not is_unreachable(error)):
                    log.warning("the database fails: %s", error.orig if isinstance(error, DBAPIError) else error)
                raise failure_of_server(error) from error
            except Exception:  # the database answered: the statement was wrong
                self._health.record(answered=True)
                raise
            if self._health.record(answered=True):
                log.info("the database answers again")

    def _migrate_once(self) -> None:
        with self._migration_lock:
            if not self._migrated:
                migrate(self.engine)
                self._migrated = True
