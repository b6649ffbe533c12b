"""Commits of a collection: they show readers that its database was set back."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, delete, insert, select

from semblance.service.documents.rows import to_collection
from semblance.service.documents.schema import commits
from semblance.service.errors import HistoryLost, VersionMismatch
from semblance.service.ports.documents import Collection, Commit, Version

RETAINED = 100_000  # commits of a collection; a copy that is further behind is made again
PRUNED_EVERY = 1_000  # commits


def new_commit() -> str:
    """Random id of a write."""
    return secrets.token_hex(4)


def record(connection: Connection, name: str, added: Sequence[Commit]) -> None:
    """Store commits in the order of their numbers, and delete the oldest from time to time."""
    if not added:
        return
    connection.execute(insert(commits), [{"collection": name, "version": each.number, "id": each.id} for each in added])
    first, last = added[0].number, added[-1].number
    if first // PRUNED_EVERY != (last + 1) // PRUNED_EVERY:
        connection.execute(delete(commits).where(commits.c.collection == name, commits.c.version <= last - RETAINED))


def commits_after(connection: Connection, name: str, number: int) -> list[Commit]:
    """The commits of all later versions, as far as they are retained."""
    later = select(commits.c.version, commits.c.id).where(commits.c.collection == name, commits.c.version > number)
    return [Commit(*row) for row in connection.execute(later.order_by(commits.c.version))]


def commit_of(connection: Connection, name: str, number: int) -> str | None:
    """The commit of a version, None if it is not retained."""
    query = select(commits.c.id).where(commits.c.collection == name, commits.c.version == number)
    return connection.execute(query).scalar_one_or_none()


def had(connection: Connection, collection: Collection, version: Version) -> bool:
    """Whether a collection was once at a version; also true if that is no longer known."""
    now = collection.version
    if now.epoch != version.epoch or version.number > now.number:
        return False
    commit = commit_of(connection, collection.name, version.number)
    return not version.contradicts(Version(version.epoch, version.number, commit or ""))


def require_seen(connection: Connection, row: RowMapping, seen: Version) -> None:
    """Raise unless the collection was once at a version that a reader has seen.

    Raises:
        VersionMismatch: it was recreated since.
        HistoryLost: it was never at that version, or so long ago that it is not known.
    """
    collection = to_collection(row)
    now = collection.version
    if now.epoch != seen.epoch:
        raise VersionMismatch("the collection was recreated")
    known = not seen.commit or seen == now or commit_of(connection, collection.name, seen.number) == seen.commit
    if seen.number > now.number or not known:
        raise HistoryLost(f"collection {collection.name!r}, now at {now}, was never at {seen}")
