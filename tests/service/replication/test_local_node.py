"""Indexes follow their store: over restarts, while they are built anew, and whatever happens to their snapshots."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import UnknownCollection
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Collection, CollectionSettings, Document, Embedded, Write
from semblance.service.ports.indexes import VectorIndex
from semblance.service.replication.local_node import LocalCollections
from tests.support.drawn_vectors import drawn

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")


class Watched(IndexFolder):
    """Counts what is loaded and made, and lets a test in while a new index is being built."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.loaded: list[int] = []
        self.made = 0
        self.meanwhile: Callable[[], object] = lambda: None

    def load(self, collection: Collection) -> VectorIndex | None:
        index = super().load(collection)
        self.loaded.append(0 if index is None else index.version.number)
        return index

    def new(self, collection: Collection, documents: int) -> VectorIndex:
        self.made += 1
        index = super().new(collection, documents)
        if threading.current_thread().name.startswith("builder"):
            self.meanwhile()
        return index


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlDocumentStore]:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    yield store
    store.close()


@pytest.fixture
def indexes(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "indexes")


def put(store: SqlDocumentStore, doc_id: str, seed: int, name: str = "c") -> None:
    write = Write(Document(doc_id, f"text {seed}", {"seed": seed}), Embedded(drawn(seed, DIM), truncated=False))
    store.upsert(store.collection(name), [write])


async def wear_out(local: LocalCollections) -> None:
    """Replace 300 documents until an index has more dead rows than it should; the last of them have seeds from 1500."""
    for round_ in range(6):
        writes = [
            Write(Document(str(i), "", {}), Embedded(drawn(300 * round_ + i, DIM), truncated=False)) for i in range(300)
        ]
        await local.write("c", lambda store, writes=writes: store.upsert(store.collection("c"), writes))  # type: ignore[misc]


class Pause:
    """Where the builder stops until the test lets it go on."""

    def __init__(self) -> None:
        self.reached, self.over = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self.over.wait(10)


async def worn_out(store: SqlDocumentStore, indexes: Watched) -> tuple[LocalCollections, Pause]:
    """A collection whose index has too many dead rows, at the moment when building a new one begins."""
    local = LocalCollections(store, indexes)
    indexes.meanwhile = pause = Pause()
    store.create("c", SETTINGS)
    await wear_out(local)
    await until(pause.reached.is_set)
    return local, pause


async def nearest(local: LocalCollections, seed: int) -> str:
    _, index = await local.current("c", None)
    return index.search(drawn(seed, DIM)[None], 1, None)[1][0][0].id


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


def test_an_index_of_mostly_dead_rows_is_built_anew_beside_searches_and_writes(
    store: SqlDocumentStore, indexes: Watched
) -> None:
    async def use() -> None:
        local, pause = await worn_out(store, indexes)
        old = (await local.current("c", None))[1]
        assert old.rows == 1800
        await local.write("c", lambda _: put(store, "d", 2000))
        await local.write("c", lambda _: put(store, "e", 2001))
        assert (await local.current("c", None))[1] is old, "the old one serves while the new one is built"
        assert await nearest(local, 2001) == "e"
        pause.over.set()
        await until(lambda: local._indexes["c"].index is not old)
        new = (await local.current("c", None))[1]
        assert (new.rows, len(new)) == (302, 302), "the new one saw what was written meanwhile"
        assert new.version == store.collection("c").version
        assert await nearest(local, 2001) == "e"
        local.close()

    asyncio.run(use())


@pytest.mark.parametrize("intrusion", ["drop", "replace"])
def test_an_index_built_for_a_collection_that_is_gone_is_thrown_away(
    store: SqlDocumentStore, indexes: Watched, intrusion: str
) -> None:
    async def use() -> None:
        local, pause = await worn_out(store, indexes)
        await local.drop("c")
        if intrusion == "replace":
            await local.write("c", lambda store: store.create("c", SETTINGS))
            await local.write("c", lambda _: put(store, "new", 7))
        pause.over.set()
        await until(lambda: not local._building)
        if intrusion == "replace":
            assert await nearest(local, 7) == "new"
            assert len((await local.current("c", None))[1]) == 1
        else:
            with pytest.raises(UnknownCollection):
                await local.current("c", None)
        local.close()

    asyncio.run(use())


def test_a_start_takes_the_copy_and_follows_from_there(store: SqlDocumentStore, indexes: Watched) -> None:
    async def use() -> None:
        store.create("c", SETTINGS)
        before = LocalCollections(store, indexes)
        for seed in range(5):
            put(store, str(seed), seed)
        await before.follow_all()
        await before.save()
        put(store, "late", 99)
        store.delete("c", "3")
        after = LocalCollections(store, indexes)
        await after.follow_all()
        assert indexes.loaded == [0, 5]
        assert await nearest(after, 99) == "late"
        assert await nearest(after, 3) != "3"
        assert (await after.current("c", None))[1].version == store.collection("c").version
        assert [(state.rows, state.lag, state.size.documents) for state in await after.states()] == [(6, 0, 5)]
        after.close()

    asyncio.run(use())


def test_a_snapshot_ahead_of_a_restored_store_is_not_taken_for_its_own_later(indexes: Watched, tmp_path: Path) -> None:
    """The database alone is put back to version 10, grows again past the snapshot's 20, and the process is killed."""
    file, backup = tmp_path / "c.sqlite", tmp_path / "backup.sqlite"

    async def use() -> None:
        store = SqlDocumentStore(sqlite_engine(file))
        store.create("c", SETTINGS)
        for number in range(20):
            if number == 10:
                store.close()
                shutil.copy(file, backup)
            put(store, str(number), number)
        before = LocalCollections(store, indexes)
        await before.follow_all()
        await asyncio.to_thread(before.close)
        shutil.copy(backup, file)

        store = SqlDocumentStore(sqlite_engine(file))
        restored = LocalCollections(store, indexes)
        await restored.follow_all()
        for number in range(15):
            await restored.write("c", lambda store, number=number: put(store, f"new {number}", 100 + number))  # type: ignore[misc]
        store.close()  # and no snapshots: it was killed
        store = SqlDocumentStore(sqlite_engine(file))
        after = LocalCollections(store, indexes)
        await after.follow_all()
        assert indexes.loaded == [0, 0, 0]
        _, index = await after.current("c", None)
        assert set(index.vectors([hit.id for hit in index.search(drawn(0, DIM)[None], 50, None)[1][0]])) == {
            *(str(number) for number in range(10)),
            *(f"new {number}" for number in range(15)),
        }
        restored.close()
        after.close()

    asyncio.run(use())


@pytest.mark.parametrize("busy", ["searches", "other work"])
def test_what_takes_long_in_other_threads_keeps_no_read_waiting(
    store: SqlDocumentStore, indexes: Watched, busy: str
) -> None:
    async def use() -> None:
        local = LocalCollections(store, indexes)
        store.create("c", SETTINGS)
        over = threading.Event()
        work = {
            "searches": lambda: local.search(lambda _: over.wait(10)),
            "other work": lambda: asyncio.to_thread(over.wait, 10),
        }
        others = [asyncio.create_task(work[busy]()) for _ in range(100)]
        await asyncio.sleep(0)
        read = await asyncio.wait_for(local.read(lambda store: store.collection("c")), 5)
        assert read.name == "c"
        over.set()
        assert all(await asyncio.gather(*others))
        local.close()

    asyncio.run(use())


def test_a_collection_and_its_index_are_of_one_life(store: SqlDocumentStore, indexes: Watched) -> None:
    class Intruding(LocalCollections):
        async def follow(self, name: str) -> VectorIndex:
            self._store.drop(name)
            self._store.create(name, SETTINGS)
            return await super().follow(name)

    async def use() -> None:
        local = Intruding(store, indexes)
        store.create("c", SETTINGS)
        collection, index = await local.current("c", None)
        assert collection.version == index.version == store.collection("c").version
        local.close()

    asyncio.run(use())


def test_a_snapshot_without_documents_is_one_too(store: SqlDocumentStore, indexes: Watched) -> None:
    async def use() -> None:
        store.create("c", SETTINGS)
        before = LocalCollections(store, indexes)
        put(store, "a", 1)
        await before.follow_all()
        await before.write("c", lambda store: store.delete("c", "a"))
        await before.save()
        made = indexes.made
        after = LocalCollections(store, indexes)
        await after.follow_all()
        assert indexes.made == made
        assert (await after.current("c", None))[1].version == store.collection("c").version
        after.close()

    asyncio.run(use())


def test_what_did_not_change_is_not_saved_again(store: SqlDocumentStore, indexes: Watched, tmp_path: Path) -> None:
    async def use() -> None:
        store.create("c", SETTINGS)
        local = LocalCollections(store, indexes)
        put(store, "a", 1)
        await local.follow_all()
        saving = asyncio.create_task(local.save_every(0.01))
        manifest = tmp_path / "indexes" / "c" / "manifest.json"
        await until(manifest.exists)
        first = manifest.stat().st_ino
        await asyncio.sleep(0.1)
        assert manifest.stat().st_ino == first
        await local.write("c", lambda _: put(store, "b", 2))
        await until(lambda: manifest.stat().st_ino != first)
        saving.cancel()
        await local.drop("c")
        assert not manifest.exists(), "the snapshot goes with the collection"
        local.close()

    asyncio.run(use())


def test_a_disk_that_takes_no_copies_costs_nothing_but_a_line_in_the_log(
    store: SqlDocumentStore, indexes: Watched, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        (tmp_path / "indexes").write_text("a file where the folder should be")
        store.create("c", SETTINGS)
        local = LocalCollections(store, indexes)
        put(store, "a", 1)
        await local.follow_all()
        with caplog.at_level(logging.ERROR):
            await local.save()
        assert "no snapshot of the index of collection c" in caplog.text
        assert await nearest(local, 1) == "a"
        local.close()

    asyncio.run(use())


def test_an_end_in_the_middle_of_building_does_not_wait_for_it(store: SqlDocumentStore, indexes: Watched) -> None:
    async def use() -> None:
        local = LocalCollections(store, indexes)
        store.create("c", SETTINGS)
        indexes.meanwhile = lambda: local._closing.wait(60)
        await wear_out(local)
        await asyncio.wait_for(asyncio.to_thread(local.close), 5)

    asyncio.run(use())


def test_a_write_at_the_very_end_succeeds_though_nothing_is_built_any_more(
    store: SqlDocumentStore, indexes: Watched
) -> None:
    async def use() -> None:
        local = LocalCollections(store, indexes)
        store.create("c", SETTINGS)
        local._builder.shutdown()  # as `close` begins, while a write is under way
        await wear_out(local)
        assert (await local.follow("c")).outgrown
        assert store.get("c", ["299"])["299"].version == 6
        local.close()

    asyncio.run(use())
