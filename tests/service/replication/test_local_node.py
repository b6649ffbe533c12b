"""Indexes follow their store: over restarts, during rebuilds, and with stale or unwritable snapshots."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import UnknownCollection, VersionMismatch
from semblance.service.indexes import collection_index
from semblance.service.indexes.engines import faiss_ivf_sq8
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Collection, CollectionSettings, Document, Write
from semblance.service.ports.indexes import VectorIndex, VectorReader
from semblance.service.replication.local_node import LocalNode
from tests.support.vectors import one_passage, unit_vector
from tests.support.waiting import CEILING_S, eventually

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")


class RecordingFolder(IndexFolder):
    """Counts loaded and new indexes, and calls back while an index is rebuilt."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.loaded: list[int] = []
        self.created = 0
        self.on_rebuild: Callable[[], object] = lambda: None

    def load(self, collection: Collection, read: VectorReader) -> VectorIndex | None:
        index = super().load(collection, read)
        self.loaded.append(0 if index is None else index.version.number)
        return index

    def new(self, collection: Collection, passages: int, read: VectorReader) -> VectorIndex:
        self.created += 1
        index = super().new(collection, passages, read)
        if threading.current_thread().name.startswith("builder"):
            self.on_rebuild()
        return index


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlDocumentStore]:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    yield store
    store.close()


@pytest.fixture
def indexes(tmp_path: Path) -> RecordingFolder:
    return RecordingFolder(tmp_path / "indexes")


@pytest.fixture
def local(store: SqlDocumentStore, indexes: RecordingFolder) -> Iterator[LocalNode]:
    store.create("c", SETTINGS)
    local = LocalNode(store, indexes)
    yield local
    local.close()


def put(store: SqlDocumentStore, doc_id: str, seed: int) -> None:
    write = Write(Document(doc_id, f"text {seed}", {"seed": seed}), one_passage(unit_vector(seed, DIM)))
    store.upsert(store.collection("c"), [write])


async def wear_out(local: LocalNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace three documents until the index needs a rebuild."""
    monkeypatch.setattr(collection_index, "SPARE_ROWS", 10)
    for round_ in range(6):
        writes = [Write(Document(str(i), "", {}), one_passage(unit_vector(3 * round_ + i, DIM))) for i in range(3)]
        await local.write("c", lambda store, writes=writes: store.upsert(store.collection("c"), writes))  # type: ignore[misc]


class Pause:
    """Pauses the builder until the test resumes it."""

    def __init__(self) -> None:
        self.reached, self.resume = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self.resume.wait(CEILING_S)


@pytest.fixture
async def pause(local: LocalNode, indexes: RecordingFolder, monkeypatch: pytest.MonkeyPatch) -> Pause:
    """The pause of a rebuild of the node's index, at its beginning."""
    indexes.on_rebuild = pause = Pause()
    await wear_out(local, monkeypatch)
    await eventually(pause.reached.is_set)
    return pause


async def nearest(local: LocalNode, seed: int) -> str:
    _, index = await local.current("c", None)
    return index.search(unit_vector(seed, DIM)[None], 1, None)[1][0][0].id


async def test_rounded_rows_are_scored_by_stored_vectors(
    store: SqlDocumentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a start from the snapshot, and of a document that was replaced since."""
    monkeypatch.setattr(faiss_ivf_sq8, "RANGE_ROWS", 50)
    store.create("c", replace(SETTINGS, index="faiss_ivf_sq8"))
    for seed in range(200):
        put(store, f"d{seed}", seed)
    query = unit_vector(1000, DIM)
    for started in range(2):
        local = LocalNode(store, IndexFolder(tmp_path / "indexes"))
        put(store, "d7", 2000 + started)
        _, index = await local.current("c", None)
        index = await local.refresh_index("c")
        seeds = [2000 + started if seed == 7 else seed for seed in range(200)]
        scores = {f"d{i}": float(unit_vector(seed, DIM).astype(float) @ query) for i, seed in enumerate(seeds)}
        hits = index.search(query[None], 10, None)[1][0]
        assert [hit.id for hit in hits] == sorted(scores, key=lambda each: -scores[each])[:10]
        assert [hit.score for hit in hits] == pytest.approx([scores[hit.id] for hit in hits], abs=1e-12)
        assert np.array_equal(index.vectors(["d9"])["d9"], unit_vector(9, DIM)[None])
        await local.save()


async def test_an_index_of_dead_rows_is_rebuilt_during_traffic(
    store: SqlDocumentStore, local: LocalNode, pause: Pause
) -> None:
    old = (await local.current("c", None))[1]
    assert old.rows == 18
    await local.write("c", lambda _: put(store, "d", 2000))
    await local.write("c", lambda _: put(store, "e", 2001))
    assert (await local.current("c", None))[1] is old, "the old index serves during the rebuild"
    assert await nearest(local, 2001) == "e"
    pause.resume.set()
    await eventually(lambda: (held := local._indexes.get("c")) is not None and held.index is not old)
    new = (await local.current("c", None))[1]
    assert (new.rows, len(new)) == (5, 5), "the new one has the writes of the rebuild"
    assert new.version == store.collection("c").version
    assert await nearest(local, 2001) == "e"


@pytest.mark.parametrize("interruption", ["drop", "replace"])
async def test_the_rebuilt_index_of_a_deleted_collection_is_discarded(
    store: SqlDocumentStore, local: LocalNode, pause: Pause, interruption: str
) -> None:
    await local.drop("c")
    if interruption == "replace":
        await local.write("c", lambda store: store.create("c", SETTINGS))
        await local.write("c", lambda _: put(store, "new", 7))
    pause.resume.set()
    await eventually(lambda: not local._building)
    if interruption == "replace":
        assert await nearest(local, 7) == "new"
        assert len((await local.current("c", None))[1]) == 1
    else:
        with pytest.raises(UnknownCollection):
            await local.current("c", None)


async def test_an_index_catches_up_to_the_min_version_asked_for(store: SqlDocumentStore, local: LocalNode) -> None:
    await local.current("c", None)
    put(store, "0", 0)  # as by another process
    asked = store.collection("c").version
    _, index = await local.current("c", asked)
    assert index.version == asked


async def test_a_start_loads_the_snapshot_and_catches_up(
    store: SqlDocumentStore, indexes: RecordingFolder, local: LocalNode
) -> None:
    for seed in range(5):
        put(store, str(seed), seed)
    await local.refresh_indexes()
    await local.save()
    put(store, "late", 99)
    store.delete("c", "3")
    after = LocalNode(store, indexes)
    await after.refresh_indexes()
    assert indexes.loaded == [0, 5]
    assert await nearest(after, 99) == "late"
    assert await nearest(after, 3) != "3"
    assert (await after.current("c", None))[1].version == store.collection("c").version
    assert [(state.rows, state.lag, state.size.documents) for state in await after.states()] == [(6, 0, 5)]
    after.close()


@pytest.mark.parametrize(("restored_at", "written"), [(10, 0), (10, 15), (1, 2)])
async def test_a_snapshot_of_a_lost_history_is_never_used(
    indexes: RecordingFolder, tmp_path: Path, restored_at: int, written: int
) -> None:
    """The database alone is put back, grows past the snapshot's version elsewhere, and the process is killed."""
    file, backup = tmp_path / "c.sqlite", tmp_path / "backup.sqlite"
    store = SqlDocumentStore(sqlite_engine(file))
    store.create("c", SETTINGS)
    for number in range(restored_at + 2):
        if number == restored_at:
            store.close()
            shutil.copy(file, backup)
        put(store, str(number), number)
    lost = store.collection("c").version
    before = LocalNode(store, indexes)
    await before.refresh_indexes()
    await asyncio.to_thread(before.close)
    shutil.copy(backup, file)

    store = SqlDocumentStore(sqlite_engine(file))
    restored = LocalNode(store, indexes)
    if written == 15:  # while a process serves, without a snapshot at its end
        await restored.refresh_indexes()
    for number in range(written):
        put(store, f"new {number}", 100 + number)
    after = LocalNode(store, indexes)
    await after.refresh_indexes()
    _, index = await after.current("c", None)
    hits = index.search(unit_vector(0, DIM)[None], 50, None)[1][0]
    assert {hit.id for hit in hits} == {*map(str, range(restored_at)), *(f"new {i}" for i in range(written))}
    with pytest.raises(VersionMismatch, match=str(lost)):
        await after.current("c", lost)
    await asyncio.to_thread(restored.close)
    await asyncio.to_thread(after.close)


@pytest.mark.parametrize("busy", ["searches", "other work"])
async def test_slow_work_in_other_threads_never_delays_reads(local: LocalNode, busy: str) -> None:
    resume = threading.Event()
    work = {
        "searches": lambda: local.search(lambda _: resume.wait(CEILING_S)),
        "other work": lambda: asyncio.to_thread(resume.wait, CEILING_S),
    }
    others = [asyncio.create_task(work[busy]()) for _ in range(100)]
    await asyncio.sleep(0)  # lets each begin
    assert (await local.read(lambda store: store.collection("c"))).name == "c"
    assert not any(each.done() for each in others)
    resume.set()
    assert all(await asyncio.gather(*others))


async def test_a_collection_and_its_index_have_the_same_epoch(
    store: SqlDocumentStore, indexes: RecordingFolder
) -> None:
    class InterruptedNode(LocalNode):
        async def refresh_index(self, name: str) -> VectorIndex:
            self._store.drop(name)
            self._store.create(name, SETTINGS)
            return await super().refresh_index(name)

    local = InterruptedNode(store, indexes)
    store.create("c", SETTINGS)
    collection, index = await local.current("c", None)
    assert collection.version == index.version == store.collection("c").version
    local.close()


async def test_a_snapshot_without_documents_is_loaded(
    store: SqlDocumentStore, indexes: RecordingFolder, local: LocalNode
) -> None:
    put(store, "a", 1)
    await local.refresh_indexes()
    await local.write("c", lambda store: store.delete("c", "a"))
    await local.save()
    created = indexes.created
    after = LocalNode(store, indexes)
    await after.refresh_indexes()
    assert indexes.created == created
    after.close()


async def test_an_unchanged_index_is_not_saved_again(store: SqlDocumentStore, local: LocalNode, tmp_path: Path) -> None:
    manifest = tmp_path / "indexes" / "c" / "manifest.json"
    put(store, "a", 1)
    await local.refresh_indexes()
    await local.save()
    first = manifest.stat().st_ino
    await local.save()
    assert manifest.stat().st_ino == first
    saving = asyncio.create_task(local.save_every(0.01))
    await local.write("c", lambda _: put(store, "b", 2))
    await eventually(lambda: manifest.stat().st_ino != first)
    saving.cancel()
    await local.drop("c")
    assert not manifest.exists(), "the snapshot is removed with the collection"


async def test_an_unwritable_snapshot_is_only_logged(
    store: SqlDocumentStore, local: LocalNode, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "indexes").write_text("a file where the folder should be")
    put(store, "a", 1)
    await local.refresh_indexes()
    await local.save()
    assert "no snapshot of the index of collection c" in caplog.text
    assert await nearest(local, 1) == "a"


async def test_closing_abandons_a_rebuild(
    store: SqlDocumentStore,
    indexes: RecordingFolder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    store.create("c", SETTINGS)
    local = LocalNode(store, indexes)
    indexes.on_rebuild = pause = Pause()
    await wear_out(local, monkeypatch)
    await eventually(pause.reached.is_set)
    closing = asyncio.create_task(asyncio.to_thread(local.close))
    await eventually(local._closing.is_set)
    pause.resume.set()
    await closing
    assert "is no longer needed: Stopped" in caplog.text


async def test_a_write_succeeds_after_the_builder_was_shut_down(
    store: SqlDocumentStore, local: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    local._builder.shutdown()  # as at the beginning of `close`, during a write
    await wear_out(local, monkeypatch)
    assert (await local.refresh_index("c")).needs_rebuild
    assert store.get("c", ["2"])["2"].version == 6
