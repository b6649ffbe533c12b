"""Aliases: further names of collections, which lead to one collection each."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from semblance.service.documents.database import Database
from semblance.service.documents.rows import to_collection
from semblance.service.documents.schema import aliases, collections
from semblance.service.errors import AliasConflict, UnknownAlias, UnknownCollection
from semblance.service.ports.documents import Collection, unknown_collection

_LOCK_ID = 7_136_523_170_114  # of an advisory lock; an arbitrary number


class StoredAliases:
    """The aliases of a database, as `DocumentStore` and `CopyStore` have them."""

    _database: Database

    def aliases(self) -> dict[str, str]:
        with self._database.reading() as connection:
            return select_aliases(connection)

    def collections_and_aliases(self) -> tuple[list[Collection], dict[str, str]]:
        with self._database.reading() as connection:
            rows = connection.execute(select(collections).order_by(collections.c.name)).mappings()
            return [to_collection(row) for row in rows], select_aliases(connection)

    def resolve(self, name: str) -> str:
        with self._database.reading() as connection:
            return _target(connection, name) or name

    def set_alias(self, name: str, collection: str) -> bool:
        try:
            with self._database.writing(name) as connection:
                lock_names(connection)
                row = update(aliases).where(aliases.c.name == name)
                new = connection.execute(row.values(collection=collection)).rowcount == 0
                if new:
                    connection.execute(insert(aliases).values(name=name, collection=collection))
                if connection.execute(select(collections.c.name).where(collections.c.name == name)).first():
                    raise AliasConflict(
                        f"{name!r} is a collection: choose another name for the alias, or delete the collection first"
                    )
        except IntegrityError:  # by the foreign key
            create = f"create it first with PUT /collections/{collection}; an alias leads to no other alias"
            raise UnknownCollection(f"there is no collection {collection!r} for the alias: {create}") from None
        return new

    def drop_alias(self, name: str) -> None:
        with self._database.writing(name) as connection:
            if connection.execute(delete(aliases).where(aliases.c.name == name)).rowcount == 0:
                raise UnknownAlias(f"alias {name!r} does not exist: GET /aliases lists all")

    def replace_aliases(self, wanted: Mapping[str, str]) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(aliases))
            insert_aliases(connection, wanted)


def select_aliases(connection: Connection) -> dict[str, str]:
    """The collections of all aliases, by name."""
    return {row.name: row.collection for row in connection.execute(select(aliases).order_by(aliases.c.name))}


def insert_aliases(connection: Connection, added: Mapping[str, str]) -> None:
    """Add aliases, except to collections that do not exist."""
    names = set(connection.execute(select(collections.c.name)).scalars())
    rows = [{"name": name, "collection": target} for name, target in added.items() if target in names]
    if rows:
        connection.execute(insert(aliases), rows)


def lock_names(connection: Connection) -> None:
    """Let transactions that name a collection or an alias take turns on a server.

    Each then sees the names of those before it, so that no name means two things.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE collections IN ROW SHARE MODE")  # first waits for a restore
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK_ID)))


def require_no_alias(connection: Connection, name: str) -> None:
    """Raise AliasConflict if an alias has the name of a new collection."""
    lock_names(connection)
    if target := _target(connection, name):
        raise AliasConflict(
            f"{name!r} is an alias of collection {target!r}: choose another name for the collection, or delete the "
            f"alias first with DELETE /aliases/{name}"
        )


def not_a_collection(connection: Connection, name: str) -> AliasConflict | UnknownCollection:
    """The error for a collection to delete that does not exist, or is named by an alias."""
    target = _target(connection, name)
    if target is None:
        return unknown_collection(name)
    return AliasConflict(
        f"{name!r} is an alias of collection {target!r}: delete that collection by its own name, or the alias with "
        f"DELETE /aliases/{name}"
    )


def _target(connection: Connection, name: str) -> str | None:
    return connection.execute(select(aliases.c.collection).where(aliases.c.name == name)).scalar_one_or_none()
