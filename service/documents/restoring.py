"""Everything in the store replaced by what a backup holds, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection, delete, select

from semblance.service.documents import copies
from semblance.service.documents.rows import new_epoch
from semblance.service.documents.schema import collections
from semblance.service.ports.documents import Life, Version


def replace_all(connection: Connection, lives: Iterable[Life]) -> set[str]:
    """Hold these collections, each under a new epoch, and no others; the names that were there before or are now."""
    if connection.dialect.name == "postgresql":
        _keep_writers_out(connection)
    names = set(connection.execute(select(collections.c.name)).scalars())
    connection.execute(delete(collections))
    for life in lives:
        number = life.collection.version.number
        reborn = replace(life.collection, version=Version(new_epoch(), number))
        copies.begin_life(connection, reborn)
        for changes in life.pages:
            copies.put(connection, reborn.name, changes)
        copies.advance(connection, reborn.name, number)
        names.add(reborn.name)
    return names


def _keep_writers_out(connection: Connection) -> None:
    """Writers wait at the door, and find the new epochs then; readers see the former state until the end.

    Only the wait for the door is limited in time: to delete much takes one long statement.
    """
    connection.exec_driver_sql("LOCK TABLE collections IN EXCLUSIVE MODE")
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
