"""Thin replicas: one fills the index for all, and whatever that has lost or kept, no search shows it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from semblance.models.embeddings import Floats
from semblance.service.callers import Permission
from semblance.service.documents.databases.index_marks import LockedMarks
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import (
    CollectionReplaced,
    IndexUnavailable,
    NoReembedding,
    ReembeddingUnfinished,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.filters import OneOf, parse_filter
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.indexes.remote.milvus_index import MilvusIndex
from semblance.service.ports.documents import Collection, DocumentStore, Reembedding, VectorChange, Version
from semblance.service.ports.remote_index import RemoteCandidate, RemoteCollection
from semblance.service.replication import change_feed
from semblance.service.replication.limited_views import limited_index
from semblance.service.replication.primary import Timeouts
from semblance.service.replication.thin import index_writer, remote_view
from semblance.service.replication.thin.index_writer import IndexWriter
from semblance.service.replication.thin.thin_replica import ThinReplica
from semblance.service.usecases.backup import back_up, restore
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.postgres_server import PostgresServer
from tests.support.thin_replicas import DIM, SETTINGS, TIMEOUTS, eventually, passages_in, search, thin_replica, upsert
from tests.support.vectors import one_passage, unit_vector

pytestmark = pytest.mark.slow

QUERY = unit_vector(0, DIM)


def vector(seed: int, dim: int = DIM) -> Floats:
    """(1, d) a document of one passage."""
    return unit_vector(seed, dim)[None]


async def filled(one: ThinReplica, count: int) -> Version:
    """Create the collection with documents d0, d1, ..."""
    version = await one.write("c", lambda store: store.create("c", SETTINGS)[0].version)
    for number in range(count):
        version = await one.write("c", upsert(f"d{number}", vector(number), {"number": number}))
    return version


async def found(one: ThinReplica, at: Version | None = None) -> set[str]:
    return {hit.id for hit in await search(one, QUERY, 100, at=at)}


def writer_parts(database: PostgresServer, milvus: str) -> tuple[MilvusIndex, LockedMarks]:
    """An index and the right to fill it, for a writer without a replica."""
    return MilvusIndex(MilvusAddress.parse(milvus), 5.0), LockedMarks(postgresql_engine(database.url, 1, 5.0))


def delete(doc_id: str) -> Callable[[DocumentStore], Version]:
    return lambda store: store.delete("c", doc_id)


async def test_all_replicas_find_what_one_writes(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a, thin_replica(database.url, milvus) as b:
        await filled(a, 0)
        ids: set[str] = set()
        for number in range(10):
            writer, reader = (a, b) if number % 2 else (b, a)
            version = await writer.write("c", upsert(f"d{number}", vector(number), {}))
            ids.add(f"d{number}")
            assert await found(reader, version) == ids
            assert await found(writer) == ids, "a replica sees its own writes at once"
        assert [state.lag for state in await b.states()] == [0]
        assert [state.rows for state in await b.states()] == [10]
        await a.drop("c")
        with pytest.raises(UnknownCollection):
            await b.current("c", None)


async def test_another_replica_fills_the_index_after_the_first(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as survivor:
        async with thin_replica(database.url, milvus) as a:
            await filled(a, 3)
        version = await survivor.write("c", upsert("later", vector(9), {}))
        assert await found(survivor, version) == {"d0", "d1", "d2", "later"}


async def test_stale_and_deleted_documents_are_never_shown(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 6)
    async with thin_replica(database.url, milvus, follows=False) as alone:  # nothing brings the index up to these
        store = await alone.read(lambda store: store)
        upsert("d0", vector(77), {"number": 0})(store)
        upsert("d1", vector(1), {"number": 100})(store)
        delete("d2")(store)
        assert await found(alone) == {"d3", "d4", "d5"}
        where = parse_filter({"number": {"lte": 4}})
        assert [hit.id for hit in sorted(await search(alone, QUERY, 9, where), key=lambda hit: hit.id)] == ["d3", "d4"]
        _, index = await alone.current("c", None)
        assert index.version.number == 6, "the version up to which the index has acknowledged changes"
        server = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
        target = RemoteCollection.of(store.collection("c"))
        server.apply(target, [VectorChange("d5", 1_000, None, {})])
        server.apply(target, [VectorChange("d5", 3, vector(5), {"number": 5})])  # which the primary has at 6
        server.close()
        assert await found(alone) == {"d3", "d4"}


async def test_filters_are_checked_where_the_index_finds_more(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 6)
        await a.write("c", upsert("list", vector(7), {"number": [0, 9]}))
        where = parse_filter({"number": {"gte": 4, "lte": 5}})
        server = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
        target = RemoteCollection.of((await a.read(lambda store: store)).collection("c"))
        assert {each.id for each in server.search(target, QUERY[None], 9, where)[0]} == {"d4", "d5", "list"}
        server.close()
        assert {hit.id for hit in await search(a, QUERY, 9, where)} == {"d4", "d5"}


async def test_many_stale_candidates_take_more_rounds(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 60)
    async with thin_replica(database.url, milvus, follows=False) as alone:
        store = await alone.read(lambda store: store)
        nearest = [hit.id for hit in await search(alone, QUERY, 60)]
        store.delete_many("c", nearest[:50])
        _, index = await alone.current("c", None)
        _, [hits] = await alone.search(lambda _: index.search(QUERY[None], 3, None))
        assert [hit.id for hit in hits] == nearest[50:53]
        assert index.mismatches(parse_filter({"a": 1})) == []

        monkeypatch.setattr(remote_view, "ROUNDS", 1)
        _, found_hits = await alone.search(lambda _: index.search(QUERY[None], 3, None))
        assert found_hits == [[]]
        assert [each.code for each in index.mismatches(parse_filter({"a": 1}))] == ["incomplete_search"]


async def test_versions_are_waited_for_within_the_timeout(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a:
        version = await filled(a, 1)
    async with thin_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.3), follows=False) as alone:
        assert await found(alone, version) == {"d0"}
        later = await alone.write("c", upsert("d1", vector(1), {}))
        with pytest.raises(VersionNotReached):
            await alone.current("c", later)
        for unknown in (Version("another", 1), Version(version.epoch, version.number, "another")):
            with pytest.raises(VersionMismatch):
                await alone.current("c", unknown)
        with pytest.raises(UnknownCollection):
            await alone.current("unknown", None)
        await alone.write("new", lambda store: store.create("new", SETTINGS))
        with pytest.raises(IndexUnavailable, match="being filled"):
            await alone.current("new", None)


@pytest.mark.timed
async def test_without_the_index_documents_are_still_written(
    database: PostgresServer, milvus_server: MilvusServer
) -> None:
    async with thin_replica(database.url, milvus_server.url) as a:
        await filled(a, 2)
        milvus_server.kill()
        with pytest.raises(IndexUnavailable):
            await found(a)
        assert not a.index_reachable
        began = time.monotonic()
        version = await a.write("c", upsert("d2", vector(2), {}))
        await a.write("c", delete("d0"))
        assert time.monotonic() - began < 1
        assert (await a.read(lambda store: store.get("c", ["d0", "d2"]))).keys() == {"d2"}
        milvus_server.start()
        await eventually(partial(_finds, a, {"d1", "d2"}))
        assert await found(a, version) == {"d1", "d2"}
        assert a.index_reachable


@pytest.mark.timed
async def test_searches_fail_in_time_while_the_index_hangs(
    database: PostgresServer, milvus_server: MilvusServer
) -> None:
    timeouts = Timeouts(write_s=1.0, poll_s=0.1, version_s=0.5, lag_s=30.0)
    async with thin_replica(database.url, milvus_server.url, timeouts) as a:
        await filled(a, 2)
        milvus_server.pause()
        for longest_s in (1.9, 0.5):  # the first ones find out; those that wait for a thread, and later ones, know
            began = time.monotonic()
            refused = await asyncio.gather(*(found(a) for _ in range(12)), return_exceptions=True)
            assert {type(each) for each in refused} == {IndexUnavailable}
            assert time.monotonic() - began < longest_s
        began = time.monotonic()
        await a.write("c", upsert("d2", vector(2), {}))
        assert time.monotonic() - began < 1
        milvus_server.resume()
        await eventually(partial(_finds, a, {"d0", "d1", "d2"}))


async def _finds(one: ThinReplica, ids: set[str]) -> bool:
    return await found(one) == ids


@pytest.mark.timed
@pytest.mark.parametrize("loss", ["earlier state", "all"])
async def test_an_index_that_lost_data_is_filled_again(
    database: PostgresServer, milvus_server: MilvusServer, loss: str
) -> None:
    async with thin_replica(database.url, milvus_server.url) as a:
        await filled(a, 3)
        milvus_server.kill()
        saved = milvus_server.save_state()
        milvus_server.start()
        await eventually(partial(_finds, a, {"d0", "d1", "d2"}))
        await a.write("c", delete("d0"))
        await a.write("c", upsert("d1", vector(50), {}))
        version = await a.write("c", upsert("d3", vector(3), {}))
        assert await found(a, version) == {"d1", "d2", "d3"}
        milvus_server.kill()
        milvus_server.recover_state(saved) if loss == "earlier state" else milvus_server.lose_state()
        milvus_server.start()
        shown: set[str] = set()

        async def is_filled() -> bool:
            now = await found(a)
            shown.update(now)
            return now == {"d1", "d2", "d3"}

        await eventually(is_filled)
        assert "d0" not in shown
        store = await a.read(lambda store: store)
        assert passages_in(milvus_server.url, store) == 3


@pytest.mark.timed
async def test_passages_that_vanish_under_the_record_are_noticed(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "COUNT_S", 0.2)
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 3)
        store = await a.read(lambda store: store)
        index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
        target = RemoteCollection.of(store.collection("c"))
        index.apply(target, [VectorChange("d1", 1_000, None, {})])  # deletes it there alone
        assert [c.id for c in index.search(target, vector(1), 2, None)[0]].count("d1") == 0
        await eventually(partial(_finds, a, {"d0", "d1", "d2"}))
        index.close()


async def test_a_large_collection_is_filled_in_turns(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "PAGE", 2)
    monkeypatch.setattr(index_writer, "PAGES_PER_TURN", 1)
    async with thin_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.1), follows=False) as alone:
        await filled(alone, 9)
        await alone.write("c", delete("d4"))
        store = await alone.read(lambda store: store)
        index, leadership = writer_parts(database, milvus)
        writer = IndexWriter(store, index, leadership, threading.Event())
        turns = 1
        while not writer.round():
            turns += 1
            with pytest.raises(IndexUnavailable, match="being filled"):
                await alone.current("c", None)
        assert turns == 5, "nine changes in pages of two"
        assert await found(alone) == {f"d{i}" for i in range(9)} - {"d4"}
        leadership.release()
        index.close()


async def test_a_lost_record_is_noticed_before_it_is_replaced(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the server is set back between two looks at its record, and a write follows at once."""
    monkeypatch.setattr(index_writer, "CHECK_S", 1_000.0)
    async with thin_replica(database.url, milvus) as a:
        before = await filled(a, 1)
        await a.write("c", upsert("d1", vector(1), {}))
        store = await a.read(lambda store: store)
        index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
        target = RemoteCollection.of(store.collection("c"))
        index.apply(target, [VectorChange("d1", 1_000, None, {})])
        index.advance(target, before)
        index.close()
        version = await a.write("c", upsert("d2", vector(2), {}))
        assert await found(a, version) == {"d0", "d1", "d2"}


async def test_late_writes_replace_no_newer_passages(milvus: str) -> None:
    index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
    target = RemoteCollection("semblance_test_late", "g", DIM, exhaustive=True)
    index.create(target)
    newer, older = VectorChange("d", 6, vector(1), {}), VectorChange("d", 5, vector(2), {})
    other = VectorChange("e", 5, vector(3), {})
    index.apply(target, [newer])
    index.apply(target, [older, other])
    assert RemoteCandidate("d", 6) in index.search(target, vector(1), 9, None)[0]
    index.apply(target, [replace(newer, version=7)])
    assert sorted(index.search(target, vector(1), 9, None)[0]) == [RemoteCandidate("d", 7), RemoteCandidate("e", 5)]
    index.apply(target, [VectorChange("d", 8, None, {})])
    assert index.count(target) == 1
    index.apply(target, [replace(other, version=9), VectorChange("f", 10, vector(4), {})], new_until=9)
    assert index.count(target) == 3, "what is said to be new is not looked for"
    index.apply(target, [replace(other, version=11), VectorChange("f", 12, None, {})], new_until=9)
    assert index.search(target, vector(1), 9, None)[0] == [RemoteCandidate("e", 11)]
    index.drop(target.key)
    assert index.position(target) is None
    index.drop(target.key)
    index.close()


async def test_searches_that_fail_alike_are_logged_once(milvus: str, caplog: pytest.LogCaptureFixture) -> None:
    """As after a restart of the server, until the replica that fills the index has loaded the collection."""
    index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
    missing = RemoteCollection("semblance_test_missing", "g", DIM, exhaustive=True)
    for _ in range(3):
        with pytest.raises(IndexUnavailable):
            index.search(missing, QUERY[None], 9, None)
    assert index.reachable
    assert caplog.text.count("the index fails") == 1
    index.ping()
    with pytest.raises(IndexUnavailable):
        index.search(missing, QUERY[None], 9, None)
    assert caplog.text.count("the index fails") == 2
    index.close()


def test_an_empty_change_shows_no_reachable_server(milvus_server: MilvusServer) -> None:
    index = MilvusIndex(MilvusAddress.parse(milvus_server.url), 2.0)
    index.ping()
    milvus_server.kill()
    with pytest.raises(IndexUnavailable):
        index.ping()
    target = RemoteCollection("semblance_test_empty", "g", DIM, exhaustive=True)
    index.apply(target, [])
    index.apply(target, [VectorChange("d", 3, None, {})], new_until=3)
    assert not index.reachable
    index.close()


async def test_a_record_ahead_of_its_mark_is_no_loss(
    database: PostgresServer, milvus: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a leader that ended between the two."""
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 2)
    async with thin_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.1), follows=False) as alone:
        version = await alone.write("c", upsert("d2", vector(2), {}))
    index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
    index.advance(RemoteCollection.of(collection_of(database)), version)
    index.close()
    caplog.clear()
    async with thin_replica(database.url, milvus) as b:
        assert await found(b, version) == {"d0", "d1", "d2"}
    assert "filling" not in caplog.text


def collection_of(database: PostgresServer) -> Collection:
    store = SqlDocumentStore(postgresql_engine(database.url, 1, 5.0))
    try:
        return store.collection("c")
    finally:
        store.close()


@pytest.mark.timed
async def test_a_database_that_was_set_back_fills_the_index_again(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 2)
        saved = database.save_state()

        async def written(doc_id: str, seed: int) -> bool:
            await a.write("c", upsert(doc_id, vector(seed), {}))
            return True

        await eventually(lambda: _retried(lambda: written("lost", 5)))
        await eventually(partial(_finds, a, {"d0", "d1", "lost"}))
        database.stop()
        database.recover_state(saved)
        database.start()
        await eventually(lambda: _retried(lambda: written("after", 6)))
        await eventually(partial(_finds, a, {"d0", "d1", "after"}))
        store = await a.read(lambda store: store)
        await eventually(lambda: asyncio.sleep(0, result=passages_in(milvus, store) == 3))


async def _retried(act: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await act()
    except StoreUnavailable:
        return False


async def test_a_restored_backup_replaces_what_the_index_had(
    database: PostgresServer, milvus: str, tmp_path: Path
) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 2)
        store = await a.read(lambda store: store)
        former = RemoteCollection.of(store.collection("c"))
        copy = SqlDocumentStore(sqlite_engine(tmp_path / "backup.sqlite"))
        back_up(store, copy, lambda _: None)
        await a.write("c", upsert("lost", vector(5), {}))
        restore(copy, store, lambda _: None)
        await eventually(partial(_finds, a, {"d0", "d1"}))
        index = MilvusIndex(MilvusAddress.parse(milvus), 5.0)
        await eventually(lambda: asyncio.sleep(0, result=index.position(former) is None))
        index.close()
        copy.close()


async def test_a_key_with_a_filter_sees_its_documents_alone(database: PostgresServer, milvus: str) -> None:
    async with thin_replica(database.url, milvus) as a:
        await filled(a, 6)
        _, whole = await a.current("c", None)
        limited = limited_index(whole, Permission(conditions=(OneOf("number", (1, 2)),)))
        _, [hits] = await a.search(lambda _: limited.search(QUERY[None], 9, parse_filter({"number": {"gte": 2}})))
        assert [hit.id for hit in hits] == ["d2"]
        assert (await a.search(lambda _: limited.vectors(["d1", "d3"]))).keys() == {"d1"}


async def test_searches_continue_during_a_reembedding(database: PostgresServer, milvus: str) -> None:
    following = Reembedding("other", "space 2", 4)
    async with thin_replica(database.url, milvus) as a, thin_replica(database.url, milvus) as b:
        await filled(a, 5)
        with pytest.raises(NoReembedding):
            await a.switch("c")
        await a.write("c", lambda store: store.begin_reembedding(store.collection("c"), following))
        with pytest.raises(ReembeddingUnfinished):
            await a.switch("c")
        stop, searched = asyncio.Event(), 0

        async def keep_searching() -> None:
            nonlocal searched
            while not stop.is_set():
                collection, index = await b.current("c", None)
                query = unit_vector(0, collection.settings.dim)[None]
                try:
                    _, [hits] = await b.search(lambda _: index.search(query, 9, None))  # noqa: B023 - at once
                except CollectionReplaced:  # a search begins again then
                    continue
                assert {hit.id for hit in hits} <= {f"d{i}" for i in range(5)}
                searched += 1

        searching = asyncio.create_task(keep_searching())

        def fill(store: DocumentStore) -> Version:
            _, documents = store.unfilled("c", 10)
            return store.fill(store.collection("c"), [(each, one_passage(unit_vector(9, 4))) for each in documents])

        await a.write("c", fill)
        version = await a.switch("c")
        collection, index = await b.current("c", version)
        assert (collection.settings.space, collection.settings.dim) == ("space 2", 4)
        _, [hits] = await b.search(lambda _: index.search(unit_vector(9, 4)[None], 9, None))
        assert {hit.id: hit.score for hit in hits} == pytest.approx({f"d{i}": 1.0 for i in range(5)}, abs=1e-6)
        stop.set()
        await searching
        assert searched
