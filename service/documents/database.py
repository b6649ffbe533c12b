"""Connections to a database, whichever it is: for reading one state of it, and for writing all or nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionFree

from semblance.service import deadline
from semblance.service.documents.contact import Contact
from semblance.service.documents.migrations import migrate
from semblance.service.errors import StoreUnavailable

log = logging.getLogger(__name__)

CHANNEL = "semblance_changes"  # PostgreSQL tells its listeners the name of a collection that was written to
PASSING = (OperationalError, InterfaceError, InternalError, NoConnectionFree)  # what another try may mend


class Database:
    """An engine, and how it is used. The tables are brought up to this release before the first use.

    Args:
        engine: of the database.
        contact: hears whether a database server answers.

    Raises, from either block:
        StoreTooNew: the tables are those of a later release.
        StoreUnavailable: a database server cannot be reached, or did not answer in time. What the engine of a file
            raises stays as it is: a full disk is not mended by waiting.
    """

    def __init__(self, engine: Engine, contact: Contact | None = None) -> None:
        self.engine = engine
        self.is_server = engine.dialect.name != "sqlite"
        one_state = engine.execution_options(isolation_level="REPEATABLE READ")
        self._reader = one_state if self.is_server else engine  # a transaction of SQLite sees one state anyway
        self._contact = contact or Contact(patience_s=float("inf"))
        self._preparing = threading.Lock()
        self._prepared = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database for the time of the block."""
        with self._asking(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *names: str, long: bool = False) -> Iterator[Connection]:
        """A transaction that changes these collections; whoever listens hears of them once it is committed.

        With `long`, a statement of it may take its time. Nothing is committed that nobody waits for any more: its
        client was told that it failed, and must not find it in the place of what was written since.
        """
        with self._asking(), self.engine.begin() as connection:
            if long and self.is_server:
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            yield connection
            self.tell(connection, names)
            if deadline.passed():
                raise StoreUnavailable("the database was too slow, and nothing was stored: try again")

    def tell(self, connection: Connection, names: Iterable[str]) -> None:
        """Name more collections that the transaction changes."""
        if self.is_server:
            for name in names:
                connection.execute(select(func.pg_notify(CHANNEL, name)))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._contact.asking():
            try:
                self._prepare()
                yield
            except PASSING as error:
                if not self.is_server:
                    raise
                if self._contact.note(answered=not _is_away(error)):
                    log.warning("the database fails: %s", error.orig if isinstance(error, DBAPIError) else error)
                raise StoreUnavailable("the database does not answer, or not in time: try again") from error
            except Exception:  # it answered; the question was wrong
                self._contact.note(answered=True)
                raise
            if self._contact.note(answered=True):
                log.info("the database answers again")

    def _prepare(self) -> None:
        with self._preparing:
            if not self._prepared:
                migrate(self.engine)
                self._prepared = True


def _is_away(error: Exception) -> bool:
    """Whether nobody answered: a server that refuses, is stopping, or is too late with a lock, is there."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return isinstance(error, DBAPIError) and (state is None or state.startswith(("08", "57P")))
