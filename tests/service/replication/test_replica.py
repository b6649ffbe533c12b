"""Replicas of one database: what one writes, all find; what is here is served, whatever becomes of the database."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from semblance.service.documents.contact import Contact
from semblance.service.documents.postgresql import Notifications, postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import (
    CollectionReplaced,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import (
    NOTHING_YET,
    CollectionSettings,
    Document,
    DocumentStore,
    Embedded,
    Rollover,
    Version,
    Write,
)
from semblance.service.replication.local_node import LocalCollections
from semblance.service.replication.primary import Patience, Truth
from semblance.service.replication.replica import Replica
from tests.support.drawn_vectors import drawn
from tests.support.servers.postgres_server import PostgresServer

DIM = 4
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")
PATIENCE = Patience(writes_s=2.0, poll_s=0.05, version_s=2.0, behind_s=0.5)


class Deaf:
    """Hears of nothing: what is left is looking again and again."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        stop.wait(longest_s)

    def close(self) -> None:
        pass


@asynccontextmanager
async def replica(
    url: str, home: Path, *, patience: Patience = PATIENCE, deaf: bool = False, started: bool = True
) -> AsyncIterator[Replica]:
    copy = SqlDocumentStore(sqlite_engine(home / "copy.sqlite"))
    local = LocalCollections(copy, IndexFolder(home / "indexes"))
    contact = Contact(patience.writes_s)
    store = SqlDocumentStore(postgresql_engine(url, 5, patience.writes_s), contact)
    truth = Truth(store, contact, Deaf() if deaf else Notifications(url, patience.writes_s))
    made = Replica(truth, copy, local, 4, patience)
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


def upsert(doc_id: str, seed: int) -> Callable[[DocumentStore], Version]:
    write = Write(Document(doc_id, f"text {seed}", {}), Embedded(drawn(seed, DIM), truncated=False))
    return lambda store: store.upsert(store.collection("c"), [write])


async def nearest(one: Replica, seed: int, at: Version | None = None) -> list[str]:
    """The ids that a search finds, best first."""
    _, index = await one.current("c", at)
    _, [hits] = await one.search(lambda _: index.search(drawn(seed, DIM)[None], 10, None))
    return [hit.id for hit in hits]


async def found_in_the_end(one: Replica, seed: int, ids: list[str] | None) -> None:
    """Wait until a search finds just these; None is no such collection."""
    give_up = time.monotonic() + 10
    while True:
        try:
            found: list[str] | None = sorted(await nearest(one, seed))
        except UnknownCollection:
            found = None
        if found == ids:
            return
        assert time.monotonic() < give_up, found
        await asyncio.sleep(0.02)


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        await asyncio.sleep(0.02)


def test_what_one_replica_writes_is_there_on_the_other_at_the_version_that_was_answered(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            for number in range(20):
                writer, reader = (a, b) if number % 2 else (b, a)
                version = await writer.write("c", upsert(f"d{number}", number))
                assert (await nearest(reader, number, version))[0] == f"d{number}"
                assert (await nearest(writer, number))[0] == f"d{number}", "its own writes a replica has at once"
            version = await b.write("c", lambda store: store.delete("c", "d3"))
            assert "d3" not in await nearest(a, 3, version)

    asyncio.run(use())


@pytest.mark.parametrize("deaf", [False, True])
def test_writes_elsewhere_come_by_notification_and_also_without(
    database: PostgresServer, tmp_path: Path, deaf: bool
) -> None:
    patience = Patience(writes_s=2.0, poll_s=0.2 if deaf else 60.0, version_s=2.0, behind_s=60.0)

    async def use() -> None:
        async with (
            replica(database.url, tmp_path / "a") as a,
            replica(database.url, tmp_path / "b", patience=patience, deaf=deaf) as b,
        ):
            await asyncio.sleep(0.5)  # it has dialled
            await a.write("c", lambda store: store.create("c", SETTINGS))
            await a.write("c", upsert("d", 1))
            await found_in_the_end(b, 1, ["d"])

    asyncio.run(use())


def test_a_version_that_nobody_wrote_is_not_waited_for_longer_than_a_look_at_the_truth(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            version = await a.write("c", upsert("d", 1))
            with pytest.raises(VersionNotReached):
                await a.current("c", Version(version.epoch, version.number + 1))
            with pytest.raises(VersionMismatch):
                await a.current("c", Version("another", 1))
            with pytest.raises(UnknownCollection):
                await a.current("nothing", version)

    asyncio.run(use())


def test_while_the_database_is_away_reads_go_on_writes_are_refused_and_nothing_is_lost(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            version = await a.write("c", upsert("d", 1))
            database.kill()
            began = time.monotonic()
            with pytest.raises(StoreUnavailable):
                await a.write("c", upsert("e", 2))
            assert time.monotonic() - began < PATIENCE.writes_s + 1
            await until(lambda: not a.reachable)
            assert await nearest(a, 1, version) == ["d"]
            with pytest.raises(VersionNotReached):
                await a.current("c", Version(version.epoch, version.number + 1))
            assert a.keeps_up, "that the database is away is not the replica's fault"
            database.start()
            await until(lambda: a.reachable)
            assert sorted(await nearest(a, 1, await a.write("c", upsert("f", 3)))) in (["d", "f"], ["d", "e", "f"])

    asyncio.run(use())


def test_a_database_that_hangs_keeps_no_read_waiting_and_no_write_forever(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            version = await a.write("c", upsert("d", 1))
            database.pause()
            began = time.monotonic()
            refused = await asyncio.gather(
                *(a.write("c", upsert(f"e{i}", i)) for i in range(6)), return_exceptions=True
            )
            assert all(isinstance(each, StoreUnavailable) for each in refused)
            assert PATIENCE.writes_s - 0.2 < time.monotonic() - began < PATIENCE.writes_s + 1
            began = time.monotonic()
            assert await nearest(a, 1, version) == ["d"]
            assert time.monotonic() - began < 0.5
            await until(lambda: not a.reachable, PATIENCE.writes_s + 1)
            await asyncio.sleep(PATIENCE.behind_s)
            assert a.keeps_up
            database.resume()
            await until(lambda: a.reachable)

    asyncio.run(use())


def test_a_replica_starts_from_its_copy_without_the_database_and_tails_the_rest_later(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            await nearest(b, 1, await a.write("c", upsert("d", 1)))
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", upsert("e", 2))
            database.kill()
            async with replica(database.url, tmp_path / "b") as b:
                assert await nearest(b, 1) == ["d"]
                database.start()
                await found_in_the_end(b, 1, ["d", "e"])

    asyncio.run(use())


def test_a_new_replica_waits_for_a_database_that_is_away(database: PostgresServer, tmp_path: Path) -> None:
    async def use() -> None:
        database.kill()
        async with replica(database.url, tmp_path / "a", started=False) as a:
            starting = asyncio.create_task(a.start())
            await asyncio.sleep(0.5)
            assert not a.complete
            assert not starting.done()
            database.start()
            await asyncio.wait_for(starting, 20)
            assert a.complete

    asyncio.run(use())


def test_a_half_filled_copy_is_not_served(database: PostgresServer, tmp_path: Path) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            await a.write("c", upsert("d", 1))
            await a.write("c", upsert("e", 2))
        copy = SqlDocumentStore(sqlite_engine(tmp_path / "a" / "copy.sqlite"))
        whole = copy.whole_changes_since("c", 0, None, 10)
        copy.begin_life(copy.collection("c"))
        copy.put("c", whole.changes[:1])  # as if it had died here
        assert copy.collection("c").version.number == NOTHING_YET
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

    asyncio.run(use())


def test_a_collection_made_anew_under_running_replicas_shows_nothing_of_its_former_life(
    database: PostgresServer, tmp_path: Path
) -> None:
    async def use() -> None:
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
            await found_in_the_end(a, 1, None)

    asyncio.run(use())


def test_a_replica_builds_the_index_of_the_next_encoder_before_it_passes_the_switch(
    database: PostgresServer, tmp_path: Path
) -> None:
    """And whoever writes by what it knew before is sent back to look again."""

    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            for seed in range(5):
                await a.write("c", upsert(f"d{seed}", seed))
            before = await a.read_truth(lambda store: store.collection("c"))
            begun = await a.write("c", lambda store: store.begin_rollover(before, Rollover("next", "space-2", DIM)))
            with pytest.raises(CollectionReplaced):
                await b.write("c", lambda store: store.upsert(before, []))
            _, left = await a.read_truth(lambda store: store.unfilled("c", 10))
            made = [(document, Embedded(drawn(100 + int(document.id[1:]), DIM), truncated=False)) for document in left]
            await a.write("c", lambda store: store.fill(begun, made))
            assert (await nearest(b, 3))[0] == "d3", "the former encoder serves meanwhile"
            version = await a.switch("c")
            for each in (a, b):
                collection, _ = await each.current("c", version)
                assert collection.settings.space == "space-2"
                assert (await nearest(each, 103, version))[0] == "d3"

    asyncio.run(use())


def test_a_collection_that_cannot_be_taken_over_keeps_the_others_from_nothing(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            put = a._copy.put

            def refuse(name: str, changes: object) -> None:
                if name == "bad":
                    raise OSError("no space left on device")
                put(name, changes)  # type: ignore[arg-type]

            monkeypatch.setattr(a._copy, "put", refuse)
            elsewhere = SqlDocumentStore(postgresql_engine(database.url, 1, 10))
            write = Write(Document("d", "text", {}), Embedded(drawn(1, DIM), truncated=False))
            elsewhere.create("bad", SETTINGS)
            elsewhere.upsert(elsewhere.collection("bad"), [write])
            bad = elsewhere.collection("bad").version
            await a.write("c", lambda store: store.create("c", SETTINGS))
            version = await a.write("c", upsert("d", 1))
            assert await nearest(a, 1, version) == ["d"]
            await until(lambda: a.left_out == 1)
            with pytest.raises(VersionNotReached):
                await a.current("bad", bad)
            await asyncio.sleep(PATIENCE.behind_s + 0.2)
            assert a.keeps_up, "what was never here degrades, and does not unready"
            monkeypatch.undo()
            a._left_out["bad"].again_at = 0.0
            await until(lambda: a.left_out == 0)
            await a.current("bad", bad)
            elsewhere.close()

    asyncio.run(use())


def test_a_replica_that_cannot_write_its_copy_does_not_keep_up(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers grow older and older, while others may be well."""

    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            await a.write("c", upsert("d", 1))

            def refuse(_: str) -> None:
                raise OSError("no space left on device")

            monkeypatch.setattr(a._copy, "following", refuse)
            await a.write("c", upsert("e", 2))
            await until(lambda: a.left_out == 1 and not a.keeps_up)
            assert a.reachable
            monkeypatch.undo()
            a._left_out["c"].again_at = 0.0
            await until(lambda: a.left_out == 0 and a.keeps_up)
            await found_in_the_end(a, 1, ["d", "e"])

    asyncio.run(use())


def test_what_was_refused_as_too_late_never_takes_the_place_of_a_later_write(
    database: PostgresServer, tmp_path: Path
) -> None:
    """A thread may still wait for the database when its client has been told that the write failed."""

    async def use() -> None:
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
                [stored] = (await a.read_truth(lambda store: store.get("c", ["d"]))).values()
                assert stored.text == f"text {2 * attempt + 1}"

    asyncio.run(use())


def test_following_goes_on_after_an_error_that_nobody_thought_of(database: PostgresServer, tmp_path: Path) -> None:
    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            engine = postgresql_engine(database.url, 1, 10)
            with engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE collections RENAME TO gone")
            await asyncio.sleep(PATIENCE.behind_s + 0.5)
            assert a.keeps_up, "what keeps every replica from looking must not unready them all"
            with engine.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE gone RENAME TO collections")
            elsewhere = SqlDocumentStore(engine)
            upsert("d", 1)(elsewhere)
            await found_in_the_end(a, 1, ["d"])
            assert a.keeps_up
            elsewhere.close()

    asyncio.run(use())


def test_a_backlog_of_its_own_shows_and_ends(database: PostgresServer, tmp_path: Path) -> None:
    """A replica that cannot write its copy fast enough says that it does not keep up, and how far it is behind."""

    async def use() -> None:
        async with replica(database.url, tmp_path / "a") as a, replica(database.url, tmp_path / "b") as b:
            await a.write("c", lambda store: store.create("c", SETTINGS))
            await nearest(b, 1, await a.write("c", upsert("d", 1)))
            slow = threading.Event()
            held = b._local._writer.submit(slow.wait, 10)
            for seed in range(3):
                await a.write("c", upsert("e", seed))
            await until(lambda: not b.keeps_up, 5)
            assert b.reachable
            assert [state.lag for state in await b.states()] == [3]
            slow.set()
            held.result(10)
            await found_in_the_end(b, 2, ["d", "e"])
            await until(lambda: b.keeps_up and b._there["c"] == b._copy.collection("c").version)
            assert [state.lag for state in await b.states()] == [0]

    asyncio.run(use())
