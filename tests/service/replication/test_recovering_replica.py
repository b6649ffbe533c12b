"""A replica whose copy is damaged answers no request from it, and copies the primary again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import NotReady
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, DocumentStore, Write
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.recovering_replica import RecoveringReplica
from semblance.service.replication.replica import Replica
from tests.support.damaged_pages import overwrite_leaf_pages
from tests.support.servers.postgres_server import PostgresServer
from tests.support.vectors import one_passage, unit_vector

pytestmark = pytest.mark.slow

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")
TIMEOUTS = Timeouts(write_s=2.0, poll_s=0.05, version_s=2.0, lag_s=0.5)
IDS = [f"d{number:03}" for number in range(400)]


@asynccontextmanager
async def recovering(url: str, home: Path) -> AsyncIterator[RecoveringReplica]:
    file = home / "copy.sqlite"

    def open_replica(on_damage: Callable[[], None]) -> tuple[LocalNode, Replica]:
        copy = SqlDocumentStore(sqlite_engine(file), on_damage=on_damage)
        local = LocalNode(copy, IndexFolder(home / "indexes"))
        health = DatabaseHealth(TIMEOUTS.write_s)
        store = SqlDocumentStore(postgresql_engine(url, 5, TIMEOUTS.write_s), health)
        notices = Notifications(url, TIMEOUTS.write_s)
        return local, Replica(Primary(store, health, notices), copy, local, 4, TIMEOUTS)

    def discard_copy() -> None:
        for part in home.glob("copy.sqlite*"):
            part.unlink()

    replica = RecoveringReplica(open_replica, discard_copy, snapshot_s=60)
    async with replica.running():
        yield replica


def fill(store: DocumentStore) -> None:
    store.upsert(
        store.collection("c"),
        [
            Write(Document(doc_id, f"text of {doc_id} " * 20, {}), one_passage(unit_vector(i, DIM)))
            for i, doc_id in enumerate(IDS)
        ],
    )


async def texts(replica: RecoveringReplica) -> list[str]:
    found = await replica.read(lambda store: store.get("c", IDS))
    return [found[doc_id].text for doc_id in IDS]


async def eventually_texts(replica: RecoveringReplica) -> list[str]:
    """The texts, once the copy has been made again."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await texts(replica)
            except NotReady:
                assert not replica.complete
                await asyncio.sleep(0.02)


EXPECTED = [f"text of {doc_id} " * 20 for doc_id in IDS]


async def test_a_copy_damaged_while_closed_is_made_again(database: PostgresServer, tmp_path: Path) -> None:
    async with recovering(database.url, tmp_path) as replica:
        await replica.write("c", lambda store: store.create("c", SETTINGS))
        await replica.write("c", fill)
    overwrite_leaf_pages(tmp_path / "copy.sqlite", 11, random.Random(0), ("documents",))
    async with recovering(database.url, tmp_path) as replica:
        assert await eventually_texts(replica) == EXPECTED
        assert replica.complete


async def test_damage_found_by_a_read_makes_the_replica_unready(database: PostgresServer, tmp_path: Path) -> None:
    async with recovering(database.url, tmp_path) as replica:
        await replica.write("c", lambda store: store.create("c", SETTINGS))
        await replica.write("c", fill)
        overwrite_leaf_pages(tmp_path / "copy.sqlite", 11, random.Random(0), ("documents",))
        with pytest.raises(NotReady):
            await texts(replica)
        assert not replica.complete
        with pytest.raises(NotReady):
            await replica.read_primary(lambda store: store.collections())
        assert await eventually_texts(replica) == EXPECTED
        version = await replica.write("c", lambda store: store.delete("c", IDS[0]))
        _, index = await replica.current("c", version)
        assert len(index) == len(IDS) - 1


async def test_damage_found_by_the_follower_makes_the_replica_unready(database: PostgresServer, tmp_path: Path) -> None:
    async with recovering(database.url, tmp_path) as replica:
        await replica.write("c", lambda store: store.create("c", SETTINGS))
        await replica.write("c", fill)
        overwrite_leaf_pages(tmp_path / "copy.sqlite", 3, random.Random(0), ("vectors",))
        await replica.write("c", fill)  # committed in the primary, although it cannot be copied
        assert await eventually_texts(replica) == EXPECTED
        _, index = await replica.current("c", None)
        assert sorted(index.vectors(IDS)) == IDS
