"""The store that holds the truth, without a model: the composition root of commands that copy or replace all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from sqlalchemy import Engine

from semblance.service.documents.lock import hold
from semblance.service.documents.postgresql import postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import NoStore
from semblance.service.settings import Settings


@contextmanager
def truth_to_read(settings: Settings) -> Iterator[SqlDocumentStore]:
    """The documents, also while they are served: neither PostgreSQL nor SQLite keeps anybody waiting for a reader.

    Raises:
        NoStore: there are none.
        StoreUnavailable: the database does not answer.
    """
    if not settings.database_url.get_secret_value() and not settings.database_file.is_file():
        raise NoStore(f"there are no documents in {settings.database_file.parent}: name their folder with --home")
    with closing(SqlDocumentStore(_engine(settings))) as store:
        yield store


@contextmanager
def truth_to_replace(settings: Settings) -> Iterator[SqlDocumentStore]:
    """The documents, to be replaced under running replicas; those of an embedded store only while nobody serves them.

    Raises:
        StoreInUse: a service runs on the embedded store.
        StoreUnavailable: the database does not answer.
    """
    with ExitStack() as held:
        if not settings.database_url.get_secret_value():
            held.enter_context(hold(settings.home))
        yield held.enter_context(closing(SqlDocumentStore(_engine(settings))))


def _engine(settings: Settings) -> Engine:
    if url := settings.database_url.get_secret_value():
        return postgresql_engine(url, settings.database_connections, settings.database_timeout_s)
    return sqlite_engine(settings.database_file)
