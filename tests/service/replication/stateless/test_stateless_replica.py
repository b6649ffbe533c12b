"""Stateless replicas: one fills the index for all, and whatever that has lost or kept, no search shows it."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.filters import OneOf, parse_filter
from semblance.service.indexes.remote.milvus_index import MilvusIndex
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import Reembedding, VectorChange, Version
from semblance.service.ports.remote_index import RemoteCandidate, RemoteCollection
from semblance.service.replication import change_feed
from semblance.service.replication.limited_views import limited_index
from semblance.service.replication.stateless import index_writer, remote_view
from semblance.service.replication.stateless.index_writer import IndexWriter
from semblance.service.replication.stateless.stateless_replica import StatelessReplica
from semblance.service.usecases.maintenance.backup import back_up, restore
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.postgres_server import PostgresServer
from tests.support.stateless_replicas import (
    DIM,
    NEVER_S,
    SETTINGS,
    THREADS,
    TIMEOUTS,
    eventually_holds,
    passages_in,
    search,
    server_index,
    short_calls,
    stateless_replica,
    upsert,
)
from tests.support.vectors import one_passage, unit_vector

pytestmark = [pytest.mark.slow, pytest.mark.waits]

QUERY = unit_vector(0, DIM)


def vector(seed: int, dim: int = DIM) -> Floats:
    return unit_vector(seed, dim)[None]


async def filled(one: StatelessReplica, count: int) -> Version:
    """Create the collection with documents d0, d1, ..."""
    version = await one.write("c", lambda store: store.create("c", SETTINGS)[0].version)
    for number in range(count):
        version = await one.write("c", upsert(f"d{number}", vector(number), {"number": number}))
    return version


async def found(one: StatelessReplica, at: Version | None = None) -> set[str]:
    return {hit.id for hit in await search(one, QUERY, 100, at=at)}


def delete(doc_id: str) -> Callable[[DocumentStore], Version]:
    return lambda store: store.delete("c", doc_id)


async def test_all_replicas_find_what_one_writes(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as a, stateless_replica(database.url, milvus) as b:
        await filled(a, 0)
        ids: set[str] = set()
        for number in range(4):
            writer, reader = (a, b) if number % 2 else (b, a)
            version = await writer.write("c", upsert(f"d{number}", vector(number), {}))
            ids.add(f"d{number}")
            assert await found(reader, version) == ids
            assert await found(writer) == ids, "a replica sees its own writes at once"
        assert [state.lag for state in await b.states()] == [0]
        assert [state.rows for state in await b.states()] == [4]
        await a.drop("c")
        with pytest.raises(UnknownCollection):
            await b.current("c", None)


async def test_all_replicas_follow_an_alias_at_once(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as a, stateless_replica(database.url, milvus) as b:
        version = await filled(a, 2)
        await a.write("c", lambda store: store.set_alias("now", "c"))
        collection, _ = await b.current(await b.resolve("now"), version)
        assert collection.name == "c"
        await b.write("now", lambda store: store.drop_alias("now"))
        assert await a.resolve("now") == "now"


async def test_another_replica_fills_the_index_after_the_first(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as survivor:
        async with stateless_replica(database.url, milvus) as a:
            await filled(a, 3)
        version = await survivor.write("c", upsert("later", vector(9), {}))
        assert await found(survivor, version) == {"d0", "d1", "d2", "later"}


async def test_stale_and_deleted_documents_are_never_shown(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 6)
    async with stateless_replica(database.url, milvus, follows=False) as alone:  # nothing brings the index up to these
        store = await alone.read(lambda store: store)
        upsert("d0", vector(77), {"number": 0})(store)
        upsert("d1", vector(1), {"number": 100})(store)
        delete("d2")(store)
        assert await found(alone) == {"d3", "d4", "d5"}
        where = parse_filter({"number": {"lte": 4}})
        assert [hit.id for hit in sorted(await search(alone, QUERY, 9, where), key=lambda hit: hit.id)] == ["d3", "d4"]
        _, index = await alone.current("c", None)
        assert index.version.number == 6, "the version up to which the index has acknowledged changes"
        with server_index(milvus) as server:
            target = RemoteCollection.of(store.collection("c"))
            server.apply(target, [VectorChange("d5", 1_000, None, {})])
            server.apply(target, [VectorChange("d5", 3, vector(5), {"number": 5})])  # which the primary has at 6
        assert await found(alone) == {"d3", "d4"}


async def test_filters_are_checked_where_the_index_finds_more(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 6)
        await a.write("c", upsert("list", vector(7), {"number": [0, 9]}))
        where = parse_filter({"number": {"gte": 4, "lte": 5}})
        with server_index(milvus) as server:
            target = RemoteCollection.of((await a.read(lambda store: store)).collection("c"))
            assert {each.id for each in server.search(target, QUERY[None], 9, where)[0]} == {"d4", "d5", "list"}
        assert {hit.id for hit in await search(a, QUERY, 9, where)} == {"d4", "d5"}
        _, whole = await a.current("c", None)
        limited = limited_index(whole, Permission(conditions=(OneOf("number", (4,)),)))
        _, [hits] = await a.search(lambda _: limited.search(QUERY[None], 9, where))
        assert [hit.id for hit in hits] == ["d4"], "a key with a filter sees its own documents alone"


async def test_many_stale_candidates_take_more_rounds(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 60)
    async with stateless_replica(database.url, milvus, follows=False) as alone:
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
    async with stateless_replica(database.url, milvus) as a:
        version = await filled(a, 1)
    async with stateless_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.01), follows=False) as alone:
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


async def test_without_the_index_documents_are_still_written(
    database: PostgresServer, milvus_server: MilvusServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with stateless_replica(database.url, milvus_server.url) as a:
        await filled(a, 2)
        with short_calls(a._index):
            milvus_server.kill()
            with pytest.raises(IndexUnavailable):
                await found(a)
            assert not a.index_reachable
            version = await a.write("c", upsert("d2", vector(2), {}))
            await a.write("c", delete("d0"))
            assert "not in the index yet" not in caplog.text, "a write does not wait for an index that is away"
            assert (await a.read(lambda store: store.get("c", ["d0", "d2"]))).keys() == {"d2"}
        milvus_server.start()
        await eventually_finds(a, {"d1", "d2"})
        assert await found(a, version) == {"d1", "d2"}
        assert a.index_reachable


async def test_searches_fail_in_time_while_the_index_hangs(
    database: PostgresServer,
    milvus_server: MilvusServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with stateless_replica(database.url, milvus_server.url) as a:
        await filled(a, 2)
        assert isinstance(a._index, MilvusIndex)
        client, sent = a._index._connected(), []
        search_server = client.search

        def counted(*arguments: Any, **options: Any) -> Any:
            sent.append(arguments)
            return search_server(*arguments, **options)

        monkeypatch.setattr(client, "search", counted)
        with short_calls(a._index):
            milvus_server.pause()
            for most in (THREADS, 0):  # the first ones find out; those that wait for a thread, and later ones, know
                sent.clear()
                refused = await asyncio.gather(*(found(a) for _ in range(3 * THREADS)), return_exceptions=True)
                assert {type(each) for each in refused} == {IndexUnavailable}
                assert len(sent) <= most
            await a.write("c", upsert("d2", vector(2), {}))
            assert "not in the index yet" not in caplog.text
        milvus_server.resume()
        await eventually_finds(a, {"d0", "d1", "d2"})


async def eventually_finds(one: StatelessReplica, ids: set[str]) -> None:
    async def finds() -> bool:
        return await found(one) == ids

    await eventually_holds(finds)


@pytest.mark.parametrize("loss", ["earlier state", "all"])
async def test_an_index_that_lost_data_is_filled_again(
    database: PostgresServer, milvus_server: MilvusServer, loss: str
) -> None:
    async with stateless_replica(database.url, milvus_server.url) as a:
        await filled(a, 3)
        milvus_server.kill()
        saved = milvus_server.save_state()
        milvus_server.start()
        await eventually_finds(a, {"d0", "d1", "d2"})
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

        await eventually_holds(is_filled)
        assert "d0" not in shown
        store = await a.read(lambda store: store)
        assert passages_in(milvus_server.url, store) == 3


async def test_passages_that_vanish_under_the_record_are_noticed(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "COUNT_S", 0.0)
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 3)
        store = await a.read(lambda store: store)
        with server_index(milvus) as index:
            target = RemoteCollection.of(store.collection("c"))
            index.apply(target, [VectorChange("d1", 1_000, None, {})])  # deletes it there alone
            assert [c.id for c in index.search(target, vector(1), 2, None)[0]].count("d1") == 0
            await eventually_finds(a, {"d0", "d1", "d2"})


async def test_a_large_collection_is_filled_in_turns(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "PAGE", 2)
    monkeypatch.setattr(index_writer, "PAGES_PER_TURN", 1)
    async with stateless_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.01), follows=False) as alone:
        await filled(alone, 9)
        await alone.write("c", delete("d4"))
        store = await alone.read(lambda store: store)
        with server_index(milvus) as index:
            leadership = LockedMarks(postgresql_engine(database.url, 1, NEVER_S))
            writer = IndexWriter(store, index, leadership, threading.Event())
            apply = index.apply
            failed: list[Set[str]] = []

            def noted(*change: Any, **options: Any) -> None:
                failed.append(writer.failed)
                apply(*change, **options)

            monkeypatch.setattr(index, "apply", noted)
            turns = 1
            while not writer.round():
                turns += 1
                with pytest.raises(IndexUnavailable, match="being filled"):
                    await alone.current("c", None)
            leadership.release()
        assert turns == 5, "nine changes in pages of two"
        assert failed == [set()] * 5, "a collection that is being filled has not failed"
        assert await found(alone) == {f"d{i}" for i in range(9)} - {"d4"}


async def test_a_lost_record_is_noticed_before_it_is_replaced(
    database: PostgresServer, milvus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the server is set back between two looks at its record, and a write follows at once."""
    monkeypatch.setattr(index_writer, "CHECK_S", math.inf)
    async with stateless_replica(database.url, milvus) as a:
        before = await filled(a, 1)
        await a.write("c", upsert("d1", vector(1), {}))
        store = await a.read(lambda store: store)
        with server_index(milvus) as index:
            target = RemoteCollection.of(store.collection("c"))
            index.apply(target, [VectorChange("d1", 1_000, None, {})])
            index.advance(target, before)
        version = await a.write("c", upsert("d2", vector(2), {}))
        assert await found(a, version) == {"d0", "d1", "d2"}


async def test_late_writes_replace_no_newer_passages(milvus: str) -> None:
    with server_index(milvus) as index:
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


async def test_searches_that_fail_alike_are_logged_once(milvus: str, caplog: pytest.LogCaptureFixture) -> None:
    """As after a restart of the server, until the replica that fills the index has loaded the collection."""
    with server_index(milvus) as index:
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


def test_an_empty_change_shows_no_reachable_server(milvus_server: MilvusServer) -> None:
    with server_index(milvus_server.url) as index:
        index.ping()
        milvus_server.kill()
        with short_calls(index), pytest.raises(IndexUnavailable):
            index.ping()
        target = RemoteCollection("semblance_test_empty", "g", DIM, exhaustive=True)
        index.apply(target, [])
        index.apply(target, [VectorChange("d", 3, None, {})], new_until=3)
        assert not index.reachable


async def test_a_record_ahead_of_its_mark_is_no_loss(
    database: PostgresServer, milvus: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a leader that ended between the two."""
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 2)
    async with stateless_replica(database.url, milvus, replace(TIMEOUTS, version_s=0.01), follows=False) as alone:
        version = await alone.write("c", upsert("d2", vector(2), {}))
        collection = await alone.read(lambda store: store.collection("c"))
    with server_index(milvus) as index:
        index.advance(RemoteCollection.of(collection), version)
    caplog.clear()
    async with stateless_replica(database.url, milvus) as b:
        assert await found(b, version) == {"d0", "d1", "d2"}
    assert "filling" not in caplog.text


async def test_a_database_that_was_set_back_fills_the_index_again(database: PostgresServer, milvus: str) -> None:
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 2)
        saved = database.save_state()

        async def eventually_writes(doc_id: str, seed: int) -> None:
            async def is_written() -> bool:
                await a.write("c", upsert(doc_id, vector(seed), {}))
                return True

            await eventually_holds(is_written)

        await eventually_writes("lost", 5)
        await eventually_finds(a, {"d0", "d1", "lost"})
        database.stop()
        database.recover_state(saved)
        database.start()
        await eventually_writes("after", 6)
        await eventually_finds(a, {"d0", "d1", "after"})
        store = await a.read(lambda store: store)
        await eventually_holds(lambda: passages_in(milvus, store) == 3)


async def test_a_restored_backup_replaces_what_the_index_had(
    database: PostgresServer, milvus: str, tmp_path: Path
) -> None:
    async with stateless_replica(database.url, milvus) as a:
        await filled(a, 2)
        store = await a.read(lambda store: store)
        former = RemoteCollection.of(store.collection("c"))
        copy = SqlDocumentStore(sqlite_engine(tmp_path / "backup.sqlite"))
        back_up(store, copy, lambda _: None)
        await a.write("c", upsert("lost", vector(5), {}))
        assert isinstance(store, SqlDocumentStore)
        restore(copy, store, lambda _: None)
        await eventually_finds(a, {"d0", "d1"})
        with server_index(milvus) as index:
            await eventually_holds(lambda: index.position(former) is None)
        copy.close()


async def test_searches_continue_during_a_reembedding(database: PostgresServer, milvus: str) -> None:
    following = Reembedding("other", "space 2", 4)
    async with stateless_replica(database.url, milvus) as a, stateless_replica(database.url, milvus) as b:
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
