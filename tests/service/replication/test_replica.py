"""Replicas of one database: all find what one writes, and each serves its copy whatever the database does."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import (
    CollectionReplaced,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    CollectionSettings,
    Document,
    DocumentStore,
    Reembedding,
    Version,
    Write,
)
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.replica import Replica
from tests.support.servers.postgres_server import PostgresServer
from tests.support.vectors import one_passage, unit_vector

pytestmark = pytest.mark.slow

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")
TIMEOUTS = Timeouts(write_s=2.0, poll_s=0.05, version_s=2.0, lag_s=0.5)


class NoNotices:
    """Never notifies, so the replica must poll."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        stop.wait(longest_s)

    def close(self) -> None:
        pass


@asynccontextmanager
async def replica(
    url: str, home: Path, *, timeouts: Timeouts = TIMEOUTS, polling: bool = False, started: bool = True
) -> AsyncIterator[Replica]:
    copy = SqlDocumentStore(sqlite_engine(home / "copy.sqlite"))
    local = LocalNode(copy, IndexFolder(home / "indexes"))
    health = DatabaseHealth(timeouts.write_s)
    store = SqlDocumentStore(postgresql_engine(url, 5, timeouts.write_s), health)
    primary = Primary(store, health, NoNotices() if polling else Notifications(url, timeouts.write_s))
    made = Replica(primary, copy, local, 4, timeouts)
    following = None
    try:
        if started:
            await made.start()
            following = asyncio.create_task(made.keep_following())
        yield made
    finally:
        if following:
            following.cancel()
        made.close()
        local.close()
        if following:  # wait_for of Python 3.11 may swallow the cancellation: then the closed threads end it
            await asyncio.gather(following, return_exceptions=True)


def upsert(doc_id: str, seed: int) -> Callable[[DocumentStore], Version]:
    write = Write(Document(doc_id, f"text {seed}", {}), one_passage(unit_vector(seed, DIM)))
    return lambda store: store.upsert(store.collection("c"), [write])


async def nearest(one: Replica, seed: int, at: Version | None = None) -> list[str]:
    """Ids of a search, best first."""
    _, index = await one.current("c", at)
    _, [hits] = await one.search(lambda _: index.search(unit_vector(seed, DIM)[None], 10, None))
    return [hit.id for hit in hits]


async def eventually_finds(one: Replica, seed: int, ids: list[str] | None) -> None:
    """Wait until a search finds exactly these ids; None means that the collection is gone."""
    deadline = time.monotonic() + 10
    while True:
        try:
            found: list[str] | None = sorted(await nearest(one, seed))
        except UnknownCollection:
            found = None
        if found == ids:
            return
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.02)


async def eventually_lags(one: Replica, versions: int) -> None:
    """Wait until the only collection is `versions` versions behind the primary."""
    deadline = time.monotonic() + 10
    while [state.lag for state in await one.states()] != [versions]:
        assert time.monotonic() < deadline, await one.states()
        await asyncio.sleep(0.02)


async def written(one: Replica, write: Callable[[DocumentStore], Version]) -> Version:
    """Write as soon as the database answers again."""
    while True:
        try:
            return await one.write("c", write)
        except StoreUnavailable:
            await asyncio.sleep(0.1)


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_a_write_is_visible_on_other_replicas(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        for number in range(20):
            writer, reader = (a, b) if number % 2 else (b, a)
            version = await writer.write("c", upsert(f"d{number}", number))
            assert (await nearest(reader, number, version))[0] == f"d{number}"
            assert (await nearest(writer, number))[0] == f"d{number}", "a replica sees its own writes at once"
        version = await b.write("c", lambda store: store.delete("c", "d3"))
        assert "d3" not in await nearest(a, 3, version)


@pytest.mark.parametrize("polling", [False, True])
async def test_writes_elsewhere_arrive_by_notification_or_polling(
    database: PostgresServer, tmp_path: Path, polling: bool
) -> None:
    timeouts = Timeouts(write_s=2.0, poll_s=0.2 if polling else 60.0, version_s=2.0, lag_s=60.0)
    async with (
        replica(database.url, tmp_path / "a") as a,
        replica(database.url, tmp_path / "b", timeouts=timeouts, polling=polling) as b,
    ):
        await asyncio.sleep(0.5)  # it has connected
        await a.write("c", lambda store: store.create("c", SETTINGS))
        await a.write("c", upsert("d", 1))
        await eventually_finds(b, 1, ["d"])


async def test_a_version_that_was_never_written_is_not_waited_for(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        version = await a.write("c", upsert("d", 1))
        for unknown in (
            Version(version.epoch, version.number + 1),
            Version(version.epoch, version.number, "another"),
            Version("another", 1),
        ):
            with pytest.raises(VersionMismatch, match=str(unknown)):
                await a.current("c", unknown)
        with pytest.raises(UnknownCollection):
            await a.current("nothing", version)


@pytest.mark.parametrize("running", [False, True], ids=["started later", "running"])
async def test_a_recovered_database_is_copied_again(database: PostgresServer, tmp_path: Path, running: bool) -> None:
    """It was put back to `a b c`, after `d e`; then it was written to up to the same version, and beyond."""
    async with replica(database.url, tmp_path / "1") as one, replica(database.url, tmp_path / "2") as two:
        await one.write("c", lambda store: store.create("c", SETTINGS))
        kept = [await one.write("c", upsert(doc_id, seed)) for seed, doc_id in enumerate("abc")][-1]
        saved = await asyncio.to_thread(database.save_state)
        await until(lambda: one.reachable)
        lost = [await written(one, upsert(doc_id, seed)) for seed, doc_id in enumerate("de", 3)][-1]
        assert sorted(await nearest(two, 1, lost)) == list("abcde")
        if running:
            database.stop()
            database.recover_state(saved)
            database.start()
            new = [await written(two, upsert(doc_id, seed)) for seed, doc_id in enumerate("xyz", 5)]
            await eventually_finds(one, 1, list("abcxyz"))
    if not running:
        database.stop()
        database.recover_state(saved)
        database.start()
        async with replica(database.url, tmp_path / "1") as one:
            new = [await one.write("c", upsert(doc_id, seed)) for seed, doc_id in enumerate("xyz", 5)]
            assert sorted(await nearest(one, 1, new[-1])) == list("abcxyz")
    async with replica(database.url, tmp_path / "1") as one, replica(database.url, tmp_path / "2") as two:
        for each in (one, two):
            assert sorted(await nearest(each, 1)) == list("abcxyz")
            with pytest.raises(VersionMismatch, match=str(lost)):
                await nearest(each, 1, lost)
            assert sorted(await nearest(each, 1, kept)) == list("abcxyz")


async def test_without_the_database_reads_continue_and_writes_are_refused(
    database: PostgresServer, tmp_path: Path
) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        version = await a.write("c", upsert("d", 1))
        database.kill()
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await a.write("c", upsert("e", 2))
        assert time.monotonic() - began < TIMEOUTS.write_s + 1
        await until(lambda: not a.reachable)
        assert await nearest(a, 1, version) == ["d"]
        with pytest.raises(VersionNotReached):
            await a.current("c", Version(version.epoch, version.number + 1))
        assert a.keeps_up, "an unreachable database does not count as lag"
        database.start()
        await until(lambda: a.reachable)
        assert sorted(await nearest(a, 1, await a.write("c", upsert("f", 3)))) in (["d", "f"], ["d", "e", "f"])


async def test_a_hanging_database_delays_no_read_and_times_out_writes(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        version = await a.write("c", upsert("d", 1))
        database.pause()
        began = time.monotonic()
        refused = await asyncio.gather(*(a.write("c", upsert(f"e{i}", i)) for i in range(6)), return_exceptions=True)
        assert all(isinstance(each, StoreUnavailable) for each in refused)
        assert TIMEOUTS.write_s - 0.2 < time.monotonic() - began < TIMEOUTS.write_s + 1
        began = time.monotonic()
        assert await nearest(a, 1, version) == ["d"]
        assert time.monotonic() - began < 0.5
        await until(lambda: not a.reachable, TIMEOUTS.write_s + 1)
        await asyncio.sleep(TIMEOUTS.lag_s)
        assert a.keeps_up
        database.resume()
        await until(lambda: a.reachable)


async def test_a_replica_starts_from_its_copy_and_catches_up_later(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        await nearest(b, 1, await a.write("c", upsert("d", 1)))
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", upsert("e", 2))
        database.kill()
        async with replica(database.url, tmp_path / "b") as b:
            assert await nearest(b, 1) == ["d"]
            database.start()
            await eventually_finds(b, 1, ["d", "e"])


async def test_a_new_replica_waits_for_the_database(database: PostgresServer, tmp_path: Path) -> None:
    database.kill()
    async with replica(database.url, tmp_path / "a", started=False) as a:
        starting = asyncio.create_task(a.start())
        await asyncio.sleep(0.5)
        assert not a.complete
        assert not starting.done()
        database.start()
        await asyncio.wait_for(starting, 20)
        assert a.complete


async def test_an_incomplete_copy_is_not_served(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        await a.write("c", upsert("d", 1))
        await a.write("c", upsert("e", 2))
    copy = SqlDocumentStore(sqlite_engine(tmp_path / "a" / "copy.sqlite"))
    whole = copy.document_changes("c", Version(copy.collection("c").version.epoch, 0), None, 10)
    copy.begin_epoch(copy.collection("c"))
    copy.put("c", whole.changes[:1])  # as after a crash at this point
    assert copy.collection("c").version.number == INCOMPLETE_VERSION
    copy.close()
    database.kill()
    async with replica(database.url, tmp_path / "a", started=False) as a:
        starting = asyncio.create_task(a.start())
        await asyncio.sleep(0.5)
        assert not starting.done()
        with pytest.raises(VersionNotReached):
            await a.current("c", None)
        database.start()
        await asyncio.wait_for(starting, 20)
        assert sorted(await nearest(a, 1)) == ["d", "e"]


async def test_a_recreated_collection_shows_nothing_of_its_former_epoch(
    database: PostgresServer, tmp_path: Path
) -> None:
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        former = await a.write("c", upsert("old", 1))
        assert await nearest(b, 1, former) == ["old"]
        await a.drop("c")
        await a.write("c", lambda store: store.create("c", SETTINGS))
        version = await a.write("c", upsert("new", 2))
        assert await nearest(b, 1, version) == ["new"]
        with pytest.raises(VersionMismatch):
            await b.current("c", former)
        await b.drop("c")
        await eventually_finds(a, 1, None)


async def test_a_replica_builds_the_next_index_before_it_switches(database: PostgresServer, tmp_path: Path) -> None:
    """A write based on the state before the re-embedding is refused."""
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        for seed in range(5):
            await a.write("c", upsert(f"d{seed}", seed))
        before = await a.read_primary(lambda store: store.collection("c"))
        begun = await a.write("c", lambda store: store.begin_reembedding(before, Reembedding("next", "space-2", DIM)))
        with pytest.raises(CollectionReplaced):
            await b.write("c", lambda store: store.upsert(before, []))
        _, left = await a.read_primary(lambda store: store.unfilled("c", 10))
        made = [(document, one_passage(unit_vector(100 + int(document.id[1:]), DIM))) for document in left]
        await a.write("c", lambda store: store.fill(begun, made))
        assert (await nearest(b, 3))[0] == "d3", "the former encoder serves until the switch"
        version = await a.switch("c")
        for each in (a, b):
            collection, _ = await each.current("c", version)
            assert collection.settings.space == "space-2"
            assert (await nearest(each, 103, version))[0] == "d3"


async def test_a_collection_that_cannot_be_copied_does_not_affect_others(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        put = a._copy.put

        def refuse(name: str, changes: object) -> None:
            if name == "bad":
                raise OSError("no space left on device")
            put(name, changes)  # type: ignore[arg-type]

        monkeypatch.setattr(a._copy, "put", refuse)
        elsewhere = SqlDocumentStore(postgresql_engine(database.url, 1, 10))
        write = Write(Document("d", "text", {}), one_passage(unit_vector(1, DIM)))
        elsewhere.create("bad", SETTINGS)
        elsewhere.upsert(elsewhere.collection("bad"), [write])
        bad = elsewhere.collection("bad").version
        await a.write("c", lambda store: store.create("c", SETTINGS))
        version = await a.write("c", upsert("d", 1))
        assert await nearest(a, 1, version) == ["d"]
        await until(lambda: a.failed_collections == 1)
        with pytest.raises(VersionNotReached):
            await a.current("bad", bad)
        await asyncio.sleep(TIMEOUTS.lag_s + 0.2)
        assert a.keeps_up, "a collection that was never copied degrades, but does not unready"
        monkeypatch.undo()
        a._failed["bad"].retry_at = 0.0
        await until(lambda: a.failed_collections == 0)
        await a.current("bad", bad)
        elsewhere.close()


async def test_a_replica_with_an_unwritable_copy_does_not_keep_up(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results grow stale, while other replicas may be current."""
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        await a.write("c", upsert("d", 1))

        def refuse(*_: object) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr(a._copy, "apply", refuse)
        await a.write("c", upsert("e", 2))
        await until(lambda: a.failed_collections == 1 and not a.keeps_up)
        assert a.reachable
        monkeypatch.undo()
        a._failed["c"].retry_at = 0.0
        await until(lambda: a.failed_collections == 0 and a.keeps_up)
        await eventually_finds(a, 1, ["d", "e"])


async def test_a_timed_out_write_never_overwrites_a_later_one(database: PostgresServer, tmp_path: Path) -> None:
    """A thread may still wait for the database after its client received the failure."""
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        for attempt in range(2):
            database.pause()
            with pytest.raises(StoreUnavailable):
                await a.write("c", upsert("d", 2 * attempt))
            later = asyncio.create_task(b.write("c", upsert("d", 2 * attempt + 1)))
            await asyncio.sleep(0.1)
            database.resume()
            try:
                await later
            except StoreUnavailable:
                await b.write("c", upsert("d", 2 * attempt + 1))
            await asyncio.sleep(0.3)
            [stored] = (await a.read_primary(lambda store: store.get("c", ["d"]))).values()
            assert stored.text == f"text {2 * attempt + 1}"


async def test_following_continues_after_an_unexpected_error(database: PostgresServer, tmp_path: Path) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        engine = postgresql_engine(database.url, 1, 10)
        with engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE collections RENAME TO gone")
        await asyncio.sleep(TIMEOUTS.lag_s + 0.5)
        assert a.keeps_up, "an error that affects all replicas must not unready them all"
        with engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE gone RENAME TO collections")
        elsewhere = SqlDocumentStore(engine)
        upsert("d", 1)(elsewhere)
        await eventually_finds(a, 1, ["d"])
        assert a.keeps_up
        elsewhere.close()


async def test_a_backlog_of_the_copy_is_reported_until_it_ends(database: PostgresServer, tmp_path: Path) -> None:
    """A replica that cannot write its copy fast enough reports that, and its lag."""
    async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
        await a.write("c", lambda store: store.create("c", SETTINGS))
        await nearest(b, 1, await a.write("c", upsert("d", 1)))
        slow = threading.Event()
        blocked = b._local._writer.submit(slow.wait, 10)
        for seed in range(3):
            await a.write("c", upsert("e", seed))
        await until(lambda: not b.keeps_up, 5)
        assert b.reachable
        await eventually_lags(b, 3)
        slow.set()
        blocked.result(10)
        await until(lambda: b.keeps_up)
        await eventually_lags(b, 0)  # the index follows the copy, so it is the last to arrive
        assert sorted(await nearest(b, 2)) == ["d", "e"]
