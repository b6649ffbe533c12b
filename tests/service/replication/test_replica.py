"""Replicas of one database: all find what one writes, and each serves its copy or makes it again."""

from __future__ import annotations

import asyncio
import random
import shutil
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases import postgresql
from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import (
    CollectionReplaced,
    NotReady,
    StoreFull,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import (
    INCOMPLETE_VERSION,
    Collection,
    CollectionSettings,
    Document,
    DocumentChange,
    Reembedding,
    Version,
    Write,
)
from semblance.service.replication import replica as replica_module
from semblance.service.replication.follower import RETRY_S, Follower
from semblance.service.replication.local_node import LocalNode
from semblance.service.replication.primary import Notices, Primary, Timeouts
from semblance.service.replication.replica import Replica
from semblance.service.usecases.maintenance.backup import back_up, restore
from tests.support.damaged_pages import count_pages, overwrite_leaf_pages, overwrite_page
from tests.support.fake_clock import FakeClock
from tests.support.servers.postgres_server import PostgresServer
from tests.support.vectors import one_passage, unit_vector
from tests.support.waiting import CEILING_S, eventually

pytestmark = [pytest.mark.slow, pytest.mark.waits]

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")
NEVER_S = 600.0  # a timeout that no test reaches
TIMEOUTS = Timeouts(write_s=NEVER_S, poll_s=0.05, version_s=NEVER_S, lag_s=10.0)
CONNECTIONS = 4


class NoNotices:
    """Never notifies, so the replica must poll."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        stop.wait(longest_s)

    def close(self) -> None:
        pass


class WatchedPrimary(Primary):
    """Counts how often it has waited for a change."""

    waited = 0

    async def wait_for_change(self) -> None:
        await super().wait_for_change()
        self.waited += 1


class WatchedReplica(Replica):
    """Shows its parts; the test moves its clock."""

    def __init__(self, url: str, home: Path, timeouts: Timeouts, notices: Notices | None = None) -> None:
        def open_copy(on_damage: Callable[[], None]) -> tuple[SqlDocumentStore, LocalNode]:
            self.copy = SqlDocumentStore(sqlite_engine(home / "copy.sqlite"), on_damage=on_damage)
            self.local = LocalNode(self.copy, IndexFolder(home / "indexes"))
            return self.copy, self.local

        def discard_copy() -> None:
            for part in home.glob("copy.sqlite*"):
                part.unlink()

        self.clock = FakeClock()
        health = DatabaseHealth(timeouts.write_s)
        store = SqlDocumentStore(postgresql_engine(url, CONNECTIONS + 1, NEVER_S), health)
        self.watched = WatchedPrimary(store, health, notices or Notifications(url, NEVER_S), CONNECTIONS, timeouts)
        super().__init__(self.watched, open_copy, discard_copy, NEVER_S, self.clock)

    async def followed(self) -> None:
        """Wait for a whole round of the follower."""
        rounds = []
        follow = Follower._round

        async def counted(follower: Follower, collections: Sequence[Collection], aliases: Mapping[str, str]) -> None:
            await follow(follower, collections, aliases)
            rounds.append(follower)

        with patch.object(Follower, "_round", counted):
            await eventually(lambda: bool(rounds))


@asynccontextmanager
async def replica(
    url: str, home: Path, timeouts: Timeouts = TIMEOUTS, notices: Notices | None = None
) -> AsyncIterator[WatchedReplica]:
    made = WatchedReplica(url, home, timeouts, notices)
    async with made.running():
        yield made


@asynccontextmanager
async def first(url: str, home: Path) -> AsyncIterator[WatchedReplica]:
    async with replica(url, home / "a") as made:
        await made.write("c", create)
        yield made


@asynccontextmanager
async def pair(url: str, home: Path) -> AsyncIterator[tuple[WatchedReplica, WatchedReplica]]:
    async with first(url, home) as a, replica(url, home / "b") as b:
        yield a, b


def create(store: DocumentStore) -> object:
    return store.create("c", SETTINGS)


@contextmanager
def filled_primary(url: str) -> Iterator[SqlDocumentStore]:
    """The database by itself, with a collection of one document."""
    store = SqlDocumentStore(postgresql_engine(url, 1, NEVER_S))
    store.create("c", SETTINGS)
    upsert("d", 1)(store)
    yield store
    store.close()


def upsert(doc_id: str, seed: int, name: str = "c") -> Callable[[DocumentStore], Version]:
    write = Write(Document(doc_id, f"text {seed}", {}), one_passage(unit_vector(seed, DIM)))
    return lambda store: store.upsert(store.collection(name), [write])


def glossed(glossary: str) -> Callable[[DocumentStore], Collection]:
    return lambda store: store.set_glossary("c", glossary)


async def nearest(one: Replica, seed: int, at: Version | None = None) -> list[str]:
    """Ids of a search, best first."""
    _, index = await one.current("c", at)
    _, [hits] = await one.search(lambda _: index.search(unit_vector(seed, DIM)[None], 10, None))
    return [hit.id for hit in hits]


async def eventually_finds(one: Replica, seed: int, ids: list[str] | None) -> None:
    """Wait until a search finds exactly these ids; None means that the collection is gone."""

    async def finds() -> bool:
        try:
            return sorted(await nearest(one, seed)) == ids
        except UnknownCollection:
            return ids is None

    await eventually(finds, f"{ids}")


async def eventually_lags(one: Replica, versions: int) -> None:
    """Wait until the only collection is `versions` versions behind the primary."""

    async def lags() -> bool:
        return [state.lag for state in await one.states()] == [versions]

    await eventually(lags, f"a lag of {versions}")


async def written(one: Replica, write: Callable[[DocumentStore], Version]) -> Version:
    """Write as soon as the database answers again."""

    async def attempt() -> Version | None:
        try:
            return await one.write("c", write)
        except StoreUnavailable:
            return None

    version = await eventually(attempt, "a write")
    assert version
    return version


async def test_a_write_is_visible_on_other_replicas(database: PostgresServer, tmp_path: Path) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        for number in range(6):
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
    timeouts = replace(TIMEOUTS, poll_s=0.05 if polling else NEVER_S)
    async with (
        replica(database.url, tmp_path / "a") as a,
        replica(database.url, tmp_path / "b", timeouts, NoNotices() if polling else None) as b,
    ):
        await eventually(lambda: b.watched.waited)  # it has connected
        await a.write("c", create)
        await a.write("c", upsert("d", 1))
        await eventually_finds(b, 1, ["d"])


async def test_a_version_that_was_never_written_is_not_waited_for(database: PostgresServer, tmp_path: Path) -> None:
    async with first(database.url, tmp_path) as a:
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
        await one.write("c", create)
        kept = [await one.write("c", upsert(doc_id, seed)) for seed, doc_id in enumerate("abc")][-1]
        saved = await asyncio.to_thread(database.save_state)
        await eventually(lambda: one.primary.reachable)
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
    async with first(database.url, tmp_path) as a:
        version = await a.write("c", upsert("d", 1))
        database.kill()
        with pytest.raises(StoreUnavailable):
            await a.write("c", upsert("e", 2))
        await eventually(lambda: not a.primary.reachable)
        assert await nearest(a, 1, version) == ["d"]
        with pytest.raises(VersionNotReached):
            await a.current("c", Version(version.epoch, version.number + 1))
        a.clock.now += 2 * TIMEOUTS.lag_s
        assert a.keeps_up, "an unreachable database does not count as lag"
        database.start()
        await eventually(lambda: a.primary.reachable)
        assert sorted(await nearest(a, 1, await written(a, upsert("f", 3)))) == ["d", "f"]


async def test_a_hanging_database_delays_no_read_and_times_out_writes(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "CONNECT_TIMEOUT_S", round(NEVER_S))  # no thread gets free before the end
    with filled_primary(database.url) as store:
        version = store.collection("c").version
    async with replica(database.url, tmp_path / "a", replace(TIMEOUTS, write_s=0.5)) as a:
        database.pause()
        writes = [a.write("c", upsert(f"e{i}", i)) for i in range(CONNECTIONS + 2)]  # the last ones get no thread
        async with asyncio.timeout(CEILING_S):
            refused = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(each) for each in refused} == {StoreUnavailable}
        assert await nearest(a, 1, version) == ["d"]
        await eventually(lambda: not a.primary.reachable)
        a.clock.now += 2 * TIMEOUTS.lag_s
        assert a.keeps_up
        database.resume()
        await eventually(lambda: a.primary.reachable)


async def test_a_replica_starts_from_its_copy_and_catches_up_later(database: PostgresServer, tmp_path: Path) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        await nearest(b, 1, await a.write("c", upsert("d", 1)))
    async with replica(database.url, tmp_path / "a") as a:
        await a.write("c", upsert("e", 2))
        database.kill()
        async with replica(database.url, tmp_path / "b") as b:
            assert await nearest(b, 1) == ["d"]
            database.start()
            await eventually_finds(b, 1, ["d", "e"])


@pytest.mark.parametrize("copied", ["nothing", "a part"])
async def test_without_a_complete_copy_a_replica_waits_for_the_database(
    database: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, copied: str
) -> None:
    with filled_primary(database.url) as store:
        upsert("e", 2)(store)
        source = store.collection("c")
        changes = store.document_changes("c", Version(source.version.epoch, 0), None, 10).changes
    if copied == "a part":  # as after a crash at this point
        copy = SqlDocumentStore(sqlite_engine(tmp_path / "copy.sqlite"))
        copy.begin_epoch(source)
        copy.put("c", changes[:1])
        assert copy.collection("c").version.number == INCOMPLETE_VERSION
        copy.close()
    database.kill()
    a = WatchedReplica(database.url, tmp_path, TIMEOUTS)
    async with AsyncExitStack() as stack:
        starting = asyncio.create_task(stack.enter_async_context(a.running()))
        await eventually(lambda: "waiting for the database" in caplog.text)
        assert (a.complete, starting.done()) == (False, False)
        with pytest.raises(NotReady):
            await a.current("c", None)
        database.start()
        await starting
        assert a.complete
        assert sorted(await nearest(a, 1)) == ["d", "e"]


async def test_a_recreated_collection_shows_nothing_of_its_former_epoch(
    database: PostgresServer, tmp_path: Path
) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        former = await a.write("c", upsert("old", 1))
        assert await nearest(b, 1, former) == ["old"]
        await a.drop("c")
        await a.write("c", create)
        version = await a.write("c", upsert("new", 2))
        assert await nearest(b, 1, version) == ["new"]
        with pytest.raises(VersionMismatch):
            await b.current("c", former)
        await b.drop("c")
        await eventually_finds(a, 1, None)


def create_second(store: DocumentStore) -> object:
    return store.create("c2", SETTINGS)


async def eventually_leads(one: Replica, target: str, name: str = "now") -> None:
    async def leads() -> bool:
        return await one.resolve(name) == target

    await eventually(leads, target)


async def test_replicas_follow_an_alias_and_write_where_it_leads(database: PostgresServer, tmp_path: Path) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        await a.write("c2", create_second)
        for target in ("c", "c2"):
            await a.write(target, lambda store, target=target: store.set_alias("now", target))  # type: ignore[misc]
            assert await a.resolve("now") == target, "a replica sees its own switch at once"
            assert await b.resolve("now", latest=True) == target
            await eventually_leads(b, target)
        await b.write("now", lambda store: store.drop_alias("now"))
        assert await b.resolve("now") == "now"
        await eventually_leads(a, "now")


async def test_an_alias_switches_once_its_collection_is_copied_whole(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the former one is served whole, even if it is deleted at once."""
    with filled_primary(database.url) as primary:
        primary.set_alias("now", "c")
        async with replica(database.url, tmp_path) as one:
            copying, go_on, put = threading.Event(), threading.Event(), SqlDocumentStore.put

            def slow_put(store: SqlDocumentStore, name: str, changes: Sequence[DocumentChange]) -> None:
                copying.set()
                assert go_on.wait(CEILING_S)
                put(store, name, changes)

            monkeypatch.setattr(SqlDocumentStore, "put", slow_put)
            create_second(primary)
            upsert("new", 2, "c2")(primary)
            primary.set_alias("now", "c2")
            primary.drop("c")
            await eventually(copying.is_set)
            assert [await one.resolve("now"), await one.resolve("now", latest=True)] == ["c", "c2"]
            assert await nearest(one, 1) == ["d"]
            led = set()

            async def switched() -> bool:
                led.add(target := await one.resolve("now"))
                return target == "c2"

            go_on.set()
            await eventually(switched)
            assert led <= {"c", "c2"}, "the alias was never missing"
            _, index = await one.current("c2", None)
            assert len(index) == 1
            await eventually_finds(one, 1, None)


async def test_a_restored_collection_never_lacks_its_alias(database: PostgresServer, tmp_path: Path) -> None:
    with filled_primary(database.url) as primary:
        primary.set_alias("now", "c")
        async with replica(database.url, tmp_path) as one:
            backup = SqlDocumentStore(sqlite_engine(tmp_path / "backup.sqlite"))
            back_up(primary, backup, lambda _: None)
            primary.set_alias("later", "c")
            await eventually_leads(one, "c", "later")
            restore(backup, primary, lambda _: None)

            async def restored() -> bool:
                assert await one.resolve("now") == "c"
                return await one.resolve("later") == "later"

            await eventually(restored)
            await eventually_finds(one, 1, ["d"])
            backup.close()


async def test_a_replica_builds_the_next_index_before_it_switches(database: PostgresServer, tmp_path: Path) -> None:
    """A write based on the state before the re-embedding is refused."""
    async with pair(database.url, tmp_path) as (a, b):
        for seed in range(5):
            await a.write("c", upsert(f"d{seed}", seed))
        before = await a.read_primary(lambda store: store.collection("c"))
        begun = await a.write("c", lambda store: store.begin_reembedding(before, Reembedding("next", "space-2", DIM)))
        with pytest.raises(CollectionReplaced):
            await b.write("c", lambda store: store.upsert(before, []))
        _, left = await a.read_primary(lambda store: store.unfilled("c", 10))
        made = [(document, one_passage(unit_vector(100 + int(document.id[1:]), DIM))) for document in left]
        await a.write("c", lambda store: store.fill(begun, made))
        assert (await nearest(b, 3, begun.version))[0] == "d3", "the former encoder serves until the switch"
        version = await a.switch("c")
        for each in (a, b):
            collection, _ = await each.current("c", version)
            assert collection.settings.space == "space-2"
            assert (await nearest(each, 103, version))[0] == "d3"


async def test_a_replica_obeys_a_glossary_from_its_version_on(database: PostgresServer, tmp_path: Path) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        await a.write("c", upsert("d", 1))
        for glossary in ("[]", ""):
            set_ = await a.write("c", glossed(glossary))
            copied, index = await b.current("c", set_.version)  # the collection may be read before the index catches up
            assert (index.version, copied.glossary) == (set_.version, glossary)


async def test_a_collection_that_cannot_be_copied_does_not_affect_others(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replica(database.url, tmp_path / "a") as a:
        put = a.copy.put

        def refuse(name: str, changes: object) -> None:
            if name == "bad":
                raise OSError("no space left on device")
            put(name, changes)  # type: ignore[arg-type]

        monkeypatch.setattr(a.copy, "put", refuse)
        with filled_primary(database.url) as elsewhere:
            elsewhere.set_alias("now", "c")
            elsewhere.create("bad", SETTINGS)
            bad = upsert("d", 1, "bad")(elsewhere)
            await eventually(lambda: a.failed_collections == {"bad"})
            elsewhere.set_alias("now", "bad")
            upsert("e", 2)(elsewhere)
        await eventually_finds(a, 1, ["d", "e"])
        await a.followed()
        assert await a.resolve("now") == "c", "which is served whole"
        with pytest.raises(VersionNotReached):
            await a.current("bad", bad)
        a.clock.now += 2 * TIMEOUTS.lag_s
        await eventually(lambda: a.keeps_up, "a collection that was never copied degrades, but does not unready")
        monkeypatch.undo()
        a.clock.now += RETRY_S
        await eventually(lambda: not a.failed_collections)
        await a.current("bad", bad)
        await eventually_leads(a, "bad")


async def test_a_full_disk_is_tried_again_later_and_logged_briefly(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with first(database.url, tmp_path) as a:
        await a.write("c", upsert("d", 1))

        def refuse(*_: object) -> None:
            raise StoreFull("the disk is full")

        monkeypatch.setattr(a.copy, "apply", refuse)
        with filled_primary(database.url) as elsewhere:
            for name in ("e", "f", "g"):
                upsert(name, 2)(elsewhere)
                await a.followed()
            await eventually(lambda: a.failed_collections == {"c"})
        tried = [record for record in caplog.records if "could not be copied; retrying in 30 s" in record.message]
        assert [record.exc_info for record in tried] == [None]
        assert tried[0].message.endswith(": the disk is full")
        monkeypatch.undo()
        a.clock.now += RETRY_S
        await eventually_finds(a, 2, ["d", "e", "f", "g"])


async def test_a_replica_with_an_unwritable_copy_does_not_keep_up(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with first(database.url, tmp_path) as a:
        await a.write("c", upsert("d", 1))

        def refuse(*_: object) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr(a.copy, "apply", refuse)
        await a.write("c", upsert("e", 2))
        await eventually(lambda: a.failed_collections == {"c"})
        a.clock.now += 2 * TIMEOUTS.lag_s
        await a.followed()
        assert a.primary.reachable
        assert not a.keeps_up
        monkeypatch.undo()
        a.clock.now += RETRY_S
        await eventually(lambda: not a.failed_collections and a.keeps_up)
        await eventually_finds(a, 1, ["d", "e"])


async def test_a_timed_out_write_is_never_stored(database: PostgresServer, tmp_path: Path) -> None:
    with filled_primary(database.url) as store:
        timeouts = replace(TIMEOUTS, write_s=0.5)
        async with replica(database.url, tmp_path / "a", timeouts) as a:
            before = await written(a, upsert("d", 2))  # so that it is connected
            database.pause()
            with pytest.raises(StoreUnavailable):
                await a.write("c", upsert("d", 3))
            database.resume()
            await eventually(lambda: not a.primary._pending, "the end of its thread")
            assert store.collection("c").version == before


async def test_following_continues_after_an_unexpected_error(
    database: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with filled_primary(database.url) as store:
        async with replica(database.url, tmp_path / "a") as a:
            with store._database.engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE collections RENAME TO gone")
            await eventually(lambda: "collections of the primary could not be read" in caplog.text)
            a.clock.now += 2 * TIMEOUTS.lag_s
            await eventually(lambda: a.keeps_up, "an error that affects all replicas must not unready them all")
            with store._database.engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE gone RENAME TO collections")
            upsert("e", 1)(store)
            await eventually_finds(a, 1, ["d", "e"])
            assert a.keeps_up


async def test_a_backlog_of_the_copy_is_reported_until_it_ends(database: PostgresServer, tmp_path: Path) -> None:
    async with pair(database.url, tmp_path) as (a, b):
        await nearest(b, 1, await a.write("c", upsert("d", 1)))
        slow = threading.Event()
        b.local._writer.submit(slow.wait)
        try:
            for seed in range(3):
                await a.write("c", upsert("e", seed))
            await eventually_lags(b, 3)
            b.clock.now += 2 * TIMEOUTS.lag_s
            assert b.primary.reachable
            assert not b.keeps_up
        finally:
            slow.set()
        await eventually(lambda: b.keeps_up)
        await eventually_lags(b, 0)  # the index follows the copy, so it is the last to arrive
        assert sorted(await nearest(b, 2)) == ["d", "e"]


IDS = [f"d{number:03}" for number in range(400)]
TEXTS = [f"text of {doc_id} " * 20 for doc_id in IDS]


def fill(store: DocumentStore) -> None:
    documents = [Document(doc_id, text, {}) for doc_id, text in zip(IDS, TEXTS, strict=True)]
    writes = [Write(each, one_passage(unit_vector(i, DIM))) for i, each in enumerate(documents)]
    store.upsert(store.collection("c"), writes)


async def texts(one: Replica) -> list[str]:
    found = await one.read(lambda store: store.get("c", IDS))
    return [found[doc_id].text for doc_id in IDS]


async def eventually_texts(one: Replica) -> list[str]:
    """The texts, once the copy has been made again."""

    async def look() -> list[str]:
        try:
            return await texts(one)
        except NotReady:
            assert not one.complete
            return []

    return await eventually(look)


@asynccontextmanager
async def filled_recovering(url: str, home: Path) -> AsyncIterator[WatchedReplica]:
    async with replica(url, home) as one:
        await one.write("c", create)
        await one.write("c", fill)
        yield one


async def test_a_copy_damaged_while_closed_is_made_again(database: PostgresServer, tmp_path: Path) -> None:
    async with filled_recovering(database.url, tmp_path):
        pass
    overwrite_leaf_pages(tmp_path / "copy.sqlite", 11, random.Random(0), ("documents",))
    async with replica(database.url, tmp_path) as one:
        assert await eventually_texts(one) == TEXTS
        assert one.complete


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.nightly), 6], ids="every {}".format)
async def test_a_start_heals_a_damaged_page(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """The copy is also behind the primary: a start reads and writes its pages."""
    monkeypatch.setattr(replica_module, "RETRY_S", 0.01)
    async with filled_recovering(database.url, tmp_path / "sound"):
        pass
    async with replica(database.url, tmp_path / "another") as another:
        await another.write("c", fill)
    rng = random.Random(0)
    for number in range(1, count_pages(tmp_path / "sound" / "copy.sqlite") + 1, every):
        home = Path(shutil.copytree(tmp_path / "sound", tmp_path / str(number)))
        overwrite_page(home / "copy.sqlite", number, rng)
        async with replica(database.url, home) as one:
            assert one.complete, f"the start with page {number} damaged ended before the copy was sound"
            with suppress(NotReady):  # a page that only this reads
                await one.read(lambda _: one.copy.damaged_rows("c"))
            assert await eventually_texts(one) == TEXTS, number
            assert await one.read(lambda _: one.copy.damaged_rows("c")) == [], number


async def test_damage_found_by_a_read_makes_the_replica_unready(database: PostgresServer, tmp_path: Path) -> None:
    async with filled_recovering(database.url, tmp_path) as one:
        overwrite_leaf_pages(tmp_path / "copy.sqlite", 11, random.Random(0), ("documents",))
        with pytest.raises(NotReady):
            await texts(one)
        assert not one.complete
        with pytest.raises(NotReady):
            await one.read_primary(lambda store: store.collections())
        assert await eventually_texts(one) == TEXTS
        version = await one.write("c", lambda store: store.delete("c", IDS[0]))
        _, index = await one.current("c", version)
        assert len(index) == len(IDS) - 1


async def test_damage_found_by_the_follower_makes_the_replica_unready(database: PostgresServer, tmp_path: Path) -> None:
    async with filled_recovering(database.url, tmp_path) as one:
        overwrite_leaf_pages(tmp_path / "copy.sqlite", 3, random.Random(0), ("vectors",))
        await one.write("c", fill)  # committed in the primary, although it cannot be copied
        assert await eventually_texts(one) == TEXTS
        _, index = await one.current("c", None)
        assert sorted(index.vectors(IDS)) == IDS
