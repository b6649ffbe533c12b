"""Connections to a database, whichever it is: for reading one state of it, and for writing all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from service.errors import StoreUnavailable

CHANNEL = "semblance_changes"  # PostgreSQL tells its listeners the name of a collection that was written to
AWAY = (OperationalError, InterfaceError, InternalError, NoConnectionFree)


class Database:
    """An engine, and how it is used.

    Raises, from either block:
        StoreUnavailable: a database server cannot be reached, or did not answer in time. What the engine of a file
            raises stays as it is: a full disk is not mended by waiting.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_server = engine.dialect.name != "sqlite"
        one_state = engine.execution_options(isolation_level="REPEATABLE READ")
        self._reader = one_state if self.is_server else engine  # a transaction of SQLite sees one state anyway

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database for the time of the block."""
        with self.away_named(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *names: str) -> Iterator[Connection]:
        """A transaction that changes these collections; whoever listens hears of them once it is committed."""
        with self.away_named(), self.engine.begin() as connection:
            yield connection
            self.tell(connection, names)

    def tell(self, connection: Connection, names: Iterable[str]) -> None:
        """Name more collections that the transaction changes."""
        if self.is_server:
            for name in names:
                connection.execute(select(func.pg_notify(CHANNEL, name)))

    @contextmanager
    def away_named(self) -> Iterator[None]:
        """Raise StoreUnavailable where the block finds a server away."""
        try:
            yield
        except AWAY as error:
            if not self.is_server:
                raise
            reason = str(error.orig if isinstance(error, DBAPIError) else error).partition("\n")[0]
            raise StoreUnavailable(f"the database does not answer ({reason}): try again") from error
