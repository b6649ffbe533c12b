"""A replica whose copy is damaged answers no request from it, and copies the primary again."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from semblance.service.errors import NotReady
from semblance.service.ports.documents import Document, DocumentStore, Write
from semblance.service.replication.recovering_replica import RecoveringReplica
from tests.service.replication.test_replica import DIM, SETTINGS, TIMEOUTS, open_replica
from tests.support.damaged_pages import overwrite_leaf_pages
from tests.support.servers.postgres_server import PostgresServer
from tests.support.vectors import one_passage, unit_vector
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.waits]

IDS = [f"d{number:03}" for number in range(400)]
TEXTS = [f"text of {doc_id} " * 20 for doc_id in IDS]


@asynccontextmanager
async def recovering(url: str, home: Path) -> AsyncIterator[RecoveringReplica]:
    def discard_copy() -> None:
        for part in home.glob("copy.sqlite*"):
            part.unlink()

    replica = RecoveringReplica(partial(open_replica, url, home, TIMEOUTS, None), discard_copy, snapshot_s=60)
    async with replica.running():
        yield replica


def fill(store: DocumentStore) -> None:
    documents = [Document(doc_id, text, {}) for doc_id, text in zip(IDS, TEXTS, strict=True)]
    writes = [Write(each, one_passage(unit_vector(i, DIM))) for i, each in enumerate(documents)]
    store.upsert(store.collection("c"), writes)


async def texts(replica: RecoveringReplica) -> list[str]:
    found = await replica.read(lambda store: store.get("c", IDS))
    return [found[doc_id].text for doc_id in IDS]


async def eventually_texts(replica: RecoveringReplica) -> list[str]:
    """The texts, once the copy has been made again."""

    async def look() -> list[str]:
        try:
            return await texts(replica)
        except NotReady:
            assert not replica.complete
            return []

    return await eventually(look)


async def test_a_copy_damaged_while_closed_is_made_again(database: PostgresServer, tmp_path: Path) -> None:
    async with recovering(database.url, tmp_path) as replica:
        await replica.write("c", lambda store: store.create("c", SETTINGS))
        await replica.write("c", fill)
    overwrite_leaf_pages(tmp_path / "copy.sqlite", 11, random.Random(0), ("documents",))
    async with recovering(database.url, tmp_path) as replica:
        assert await eventually_texts(replica) == TEXTS
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
        assert await eventually_texts(replica) == TEXTS
        version = await replica.write("c", lambda store: store.delete("c", IDS[0]))
        _, index = await replica.current("c", version)
        assert len(index) == len(IDS) - 1


async def test_damage_found_by_the_follower_makes_the_replica_unready(database: PostgresServer, tmp_path: Path) -> None:
    async with recovering(database.url, tmp_path) as replica:
        await replica.write("c", lambda store: store.create("c", SETTINGS))
        await replica.write("c", fill)
        overwrite_leaf_pages(tmp_path / "copy.sqlite", 3, random.Random(0), ("vectors",))
        await replica.write("c", fill)  # committed in the primary, although it cannot be copied
        assert await eventually_texts(replica) == TEXTS
        _, index = await replica.current("c", None)
        assert sorted(index.vectors(IDS)) == IDS
