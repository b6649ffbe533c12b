"""The laws of backups, on every database: what is put back is what there was, all of it or nothing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select

from semblance.service.documents import backup_folder
from semblance.service.documents.postgresql import postgresql_engine
from semblance.service.documents.schema import collections, documents, token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import CollectionReplaced
from semblance.service.ports.documents import ChangePage, Collection, Document, Life, WholeChange, Write
from semblance.service.replication.copier import PlainHand, TakeOver
from semblance.service.usecases.backup import back_up, restore
from tests.contracts.test_copies import SETTINGS, STEPS, Step, Writer, dump, made_of, require_same
from tests.support.dying import DEAD, in_a_process

SAME = [column.name for column in collections.c if column.name != "epoch"]
ROLLOVER = ["name", "epoch", "space", "next_space"]
Content: TypeAlias = list[Any]
ODD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
METADATA = st.dictionaries(ODD, ODD | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=2)
FIXTURE_OUTLIVES_EXAMPLES = [HealthCheck.function_scoped_fixture]


def quiet(_: int) -> None:
    """Nobody watches the progress."""


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
    """Empty databases by kind."""
    made: list[Engine] = []

    def open_(kind: str) -> Engine:
        if kind == "postgresql":
            engine = postgresql_engine(request.getfixturevalue("postgres"), connections=5, timeout_s=10)
        else:
            engine = sqlite_engine(tmp_path / f"{len(made)}.sqlite")
        made.append(engine)
        return engine

    yield open_
    for engine in made:
        engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, opened: Callable[[str], Engine]) -> Engine:
    return opened(request.param)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance.service.replication.change_feed.PAGE", 2)


def content(engine: Engine) -> Content:
    """Everything but the epochs, which are new after a restore."""
    return [dump(engine, collections, SAME), *(dump(engine, table) for table in (documents, vectors, token_codes))]


def epochs(engine: Engine) -> set[Any]:
    return set(dump(engine, collections, ["epoch"]))


def saved(store: SqlDocumentStore, folder: Path) -> Path:
    folder.mkdir()
    with backup_folder.written(folder) as copy:
        back_up(store, copy, quiet)
    return folder


def put_back(folder: Path, store: SqlDocumentStore) -> None:
    with backup_folder.opened(folder, backup_folder.check(folder)) as backup:
        restore(backup, store, quiet)


def emptied(store: SqlDocumentStore) -> Writer:
    for former in store.collections():
        store.drop(former.name)
    return Writer(store)


def filled(engine: Engine) -> SqlDocumentStore:
    """Two collections with documents, a deleted one, and a roll-over under way."""
    writer = Writer(SqlDocumentStore(engine))
    steps: list[Step] = [
        ("upsert", "c", 3),
        ("upsert", "d", 7),
        ("begin", "c", 1),
        ("fill", "c", 1),
        ("delete", "d", 1),
    ]
    for step in steps:
        writer.perform(step)
    return writer.store


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "same")])
def test_what_is_put_back_is_what_there_was_whatever_was_stored_there_meanwhile(
    opened: Callable[[str], Engine], tmp_path_factory: pytest.TempPathFactory, source: str, target: str
) -> None:
    truth = opened(source)
    other = truth if target == "same" else opened(target)
    store, other_store = SqlDocumentStore(truth), SqlDocumentStore(other)

    @settings(deadline=None, max_examples=5, suppress_health_check=FIXTURE_OUTLIVES_EXAMPLES)
    @given(
        steps=STEPS,
        later=STEPS,
        odd=st.dictionaries(ODD, st.tuples(ODD, METADATA), max_size=3),
        page=st.integers(1, 9),
    )
    def law(steps: list[Step], later: list[Step], odd: Mapping[str, tuple[str, Any]], page: int) -> None:
        writer = emptied(store)
        for step in steps:
            writer.perform(step)
        store.create("empty", SETTINGS)
        odd_ones, _ = store.create("odd", SETTINGS)
        given_ones = [Document(doc_id, text, more) for doc_id, (text, more) in odd.items()]
        store.upsert(odd_ones, [Write(each, made_of("space-0", each.text)) for each in given_ones])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("semblance.service.replication.change_feed.PAGE", page)
            folder = saved(store, tmp_path_factory.mktemp("backup") / "made")
            before = content(truth)
            writer = emptied(other_store) if other is not truth else writer
            for step in later:
                writer.perform(step)
            former = epochs(truth) | epochs(other)
            put_back(folder, other_store)
        assert content(other) == before
        assert not epochs(other) & former
        assert len(epochs(other)) == len(before[0])

    law()


class Busy(SqlDocumentStore):
    """A store to which something is written before every look at it; it remembers all its states."""

    def __init__(self, engine: Engine, steps: Sequence[Step | None]) -> None:
        super().__init__(engine)
        self._writer = Writer(SqlDocumentStore(engine))
        self._steps = list(steps)
        self._engine = engine
        self.states: dict[tuple[Any, ...], Content] = {}
        self._remember()

    def collection(self, name: str) -> Collection:
        self._write()
        return super().collection(name)

    def _write(self) -> None:
        if self._steps and (step := self._steps.pop(0)):
            self._writer.perform(step)
            self._remember()

    def _remember(self) -> None:
        for collection in self.collections():
            self.states[(collection.name, collection.version)] = of_collection(self._engine, collection.name)

    def whole_changes_since(
        self, name: str, since: int, cursor: tuple[int, str] | None, limit: int
    ) -> ChangePage[WholeChange]:
        self._write()
        return super().whole_changes_since(name, since, cursor, limit)


def of_collection(engine: Engine, name: str) -> Content:
    """The documents of one collection, and what its own encoder made of them."""
    with engine.connect() as connection:
        space = connection.execute(select(collections.c.space).where(collections.c.name == name)).scalar_one()
        found = [connection.execute(select(documents).where(documents.c.collection == name)).all()]
        for table in (vectors, token_codes):
            mine = select(table).where(table.c.collection == name, table.c.space == space)
            found.append(connection.execute(mine).all())
    return [sorted(tuple(map(repr, row)) for row in rows) for rows in found]


@settings(deadline=None, max_examples=25, suppress_health_check=FIXTURE_OUTLIVES_EXAMPLES)
@given(before=STEPS, meanwhile=STEPS, page=st.integers(1, 5))
def test_a_copy_of_a_busy_store_has_each_collection_as_it_was_at_one_version(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, before: list[Step], meanwhile: list[Step], page: int
) -> None:
    writer = emptied(SqlDocumentStore(engine))
    for step in before:
        writer.perform(step)
    busy = Busy(engine, meanwhile)
    copy_engine = sqlite_engine(tmp_path_factory.mktemp("copy") / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("semblance.service.replication.change_feed.PAGE", page)
        back_up(busy, copy, quiet)
    copied = copy.collections()
    spaces = dump(copy_engine, vectors, ["collection", "space"])
    for collection in copied:
        assert of_collection(copy_engine, collection.name) == busy.states[(collection.name, collection.version)]
        own = {repr(collection.settings.space), repr(collection.rollover and collection.rollover.space)}
        held = {space for name, space in spaces if name == repr(collection.name)}
        assert held <= own, "nothing is left of a roll-over that is not under way"
    copy.close()


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("looks", range(8))
@pytest.mark.parametrize("meanwhile", [["begin"], ["begin", "switch"], ["begin", "fill", "drop_rollover"]])
def test_a_roll_over_that_comes_or_goes_at_any_moment_of_a_copy_is_in_it_as_it_ended(
    tmp_path: Path, meanwhile: list[str], looks: int
) -> None:
    engine, copy_engine = sqlite_engine(tmp_path / "truth.sqlite"), sqlite_engine(tmp_path / "copy.sqlite")
    Writer(SqlDocumentStore(engine)).perform(("upsert", "c", 3))
    copy = SqlDocumentStore(copy_engine)
    back_up(Busy(engine, [*[None] * looks, *((step, "c", 3) for step in meanwhile)]), copy, quiet)
    assert dump(copy_engine, collections, ROLLOVER) == dump(engine, collections, ROLLOVER)
    for table in (vectors, token_codes):
        assert dump(copy_engine, table) == dump(engine, table)
    copy.close()
    engine.dispose()


class Recorder:
    """Writes to a collection of its own until it is stopped, and notes which documents each version has."""

    def __init__(self, store: SqlDocumentStore, name: str) -> None:
        self._store = store
        self._collection, _ = store.create(name, SETTINGS)
        self.states: dict[int, dict[str, str]] = {0: {}}
        self.stop = threading.Event()

    def run(self) -> None:
        """Write, one document after the other; every fifth time one goes."""
        state: dict[str, str] = {}
        name, number = self._collection.name, 0
        while not self.stop.is_set():
            number += 1
            doc_id, text = f"{number * 7 % 25}", f"{name} {number}"
            if number % 5 == 0:
                doc_id = sorted(state)[number % len(state)]
                version = self._store.delete(name, doc_id)
                state = {each: of for each, of in state.items() if each != doc_id}
            else:
                write = Write(Document(doc_id, text, {}), made_of("space-0", text))
                version = self._store.upsert(self._collection, [write])
                state = {**state, doc_id: text}
            self.states[version.number] = state


def test_a_backup_beside_writers_holds_a_state_that_each_collection_had(engine: Engine, tmp_path: Path) -> None:
    store = SqlDocumentStore(engine)
    recorders = {name: Recorder(store, name) for name in ("c", "d")}
    with ThreadPoolExecutor(2) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr("semblance.service.replication.change_feed.PAGE", 5)
        writing = [pool.submit(each.run) for each in recorders.values()]
        try:
            wait_until(lambda: all(len(each.states) > 20 for each in recorders.values()))
            folders = [saved(store, tmp_path / f"backup-{number}") for number in range(4)]
        finally:
            for each in recorders.values():
                each.stop.set()
        for done in writing:
            done.result()
    seen = set()
    for folder in folders:
        with backup_folder.opened(folder, backup_folder.check(folder)) as backup:
            for collection in backup.collections():
                held = {each.id: each.text for each in backup.scan(collection.name, "", 100)}
                assert held == recorders[collection.name].states[collection.version.number]
                seen.add((collection.name, collection.version.number))
    assert len(seen) > 4, "they wrote meanwhile"


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def statements(engine: Engine, act: Callable[[int], None]) -> None:
    """Have `act` told the number of every statement, and of the commit, before it runs."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1
        act(count)

    for name in ("before_cursor_execute", "commit"):
        event.listen(engine, name, step)


class Failed(Exception):
    """What a statement of these tests fails with."""


@pytest.mark.usefixtures("small_pages")
def test_a_restore_that_fails_at_any_statement_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    store = filled(engine)
    folder = saved(store, tmp_path / "backup")
    emptied(store).perform(("upsert", "later", 2))
    before, former = content(engine), epochs(engine)
    fails_at, armed = 0, True
    seen: list[int] = []

    def fail(number: int) -> None:
        seen.append(number)
        if armed and len(seen) == fails_at:
            raise Failed

    statements(engine, fail)
    while True:
        fails_at += 1
        seen.clear()
        armed = True
        try:
            put_back(folder, store)
        except Failed:
            armed = False
            assert (content(engine), epochs(engine)) == (before, former)
        else:
            break
    assert fails_at > 25
    armed = False
    assert {each.name for each in store.collections()} == {"c", "d"}


@pytest.mark.usefixtures("small_pages")
def test_a_process_killed_during_a_restore_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    store = filled(engine)
    folder = saved(store, tmp_path / "backup")
    emptied(store).perform(("upsert", "later", 2))
    before = content(engine)
    engine.dispose()  # its connections are none of the child's

    def die(at: int) -> None:
        statements(engine, lambda number: os._exit(DEAD) if number == at else None)
        put_back(folder, store)

    deaths = 0
    for at in range(1, 100, 5):
        status = in_a_process(partial(die, at))
        if status != DEAD:
            assert status == 0
            break
        deaths += 1
        assert content(engine) == before
        engine.dispose()
    assert deaths > 4
    assert content(engine) != before


def test_a_replica_takes_over_what_was_restored_and_nothing_else(engine: Engine, tmp_path: Path) -> None:
    store = filled(engine)
    folder = saved(store, tmp_path / "backup")
    former = store.collection("c").version
    writer = Writer(store)
    for step in [("switch", "c", 1), ("upsert", "c", 5), ("recreate", "d", 2), ("upsert", "later", 1)]:
        writer.perform(step)
    copy_engine = sqlite_engine(tmp_path / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    take_over = TakeOver(store, copy, PlainHand(copy))
    for name in ("c", "d", "later"):
        take_over(name)
    require_same(engine, copy_engine)
    put_back(folder, store)
    for name in ("c", "d", "later"):
        take_over(name)
    require_same(engine, copy_engine)
    assert [each.name for each in copy.collections()] == ["c", "d"]
    assert store.collection("c").version.number == former.number
    assert store.collection("c").version.epoch != former.epoch
    copy.close()


def test_replicas_hear_of_every_collection_that_was_there_or_is(postgres: str, tmp_path: Path) -> None:
    store = filled(postgresql_engine(postgres, connections=2, timeout_s=10))
    folder = saved(store, tmp_path / "backup")
    store.drop("d")
    store.create("later", SETTINGS)
    with psycopg.connect(postgres, autocommit=True) as listener:
        listener.execute("LISTEN semblance_changes")
        put_back(folder, store)
        heard = [each.payload for each in listener.notifies(timeout=5, stop_after=3)]
    assert sorted(heard) == ["c", "d", "later"]
    store.close()


def test_during_a_restore_readers_see_the_former_state_and_writers_wait_for_the_new_one(postgres: str) -> None:
    store = filled(postgresql_engine(postgres, connections=4, timeout_s=10))
    collection = store.collection("d")
    paused, go_on = threading.Event(), threading.Event()

    def pages() -> Iterator[Sequence[WholeChange]]:
        paused.set()
        assert go_on.wait(10)
        yield [WholeChange(Document("new", "new", {}, version=3), deleted=False, embedded={})]

    life = Life(collection, pages())
    with ThreadPoolExecutor(2) as pool:
        restoring = pool.submit(store.replace_all, [life])
        assert paused.wait(10)
        assert [each.name for each in store.collections()] == ["c", "d"]
        assert len(store.scan("d", "", 10)) == 3
        writing = pool.submit(store.upsert, collection, [Write(Document("x", "x", {}), made_of("space-0", "x"))])
        assert not writing.done()
        go_on.set()
        restoring.result(10)
        with pytest.raises(CollectionReplaced):
            writing.result(10)
    assert [each.id for each in store.scan("d", "", 10)] == ["new"]
    assert [each.name for each in store.collections()] == ["d"]
    store.close()
