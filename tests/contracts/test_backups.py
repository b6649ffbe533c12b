"""Laws of backups on every database: a restore brings back exactly what was saved, or changes nothing."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select

from semblance.service.documents import backup_folder
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.schema import aliases, collections, documents, token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import CollectionReplaced
from semblance.service.ports.documents import (
    ChangePage,
    Collection,
    CollectionContents,
    Cursor,
    Document,
    DocumentChange,
    Version,
    Write,
)
from semblance.service.replication.copier import Copier, DirectWriter
from semblance.service.usecases.maintenance.backup import back_up, restore
from tests.contracts.test_copies import SETTINGS, STEPS, Step, Writer, assert_equal, dump, embedding
from tests.support.crash_point import CRASHED, run_in_fork
from tests.support.waiting import CEILING_S, until

pytestmark = pytest.mark.slow

SAME = [column.name for column in collections.c if column.name != "epoch"]
NEXT_ENCODER = ["name", "epoch", "space", "next_space"]
Content: TypeAlias = list[Any]
ODD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
METADATA = st.dictionaries(ODD, ODD | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=2)
SHARED_FIXTURE = [HealthCheck.function_scoped_fixture]


def ignore_progress(_: int) -> None:
    pass


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
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


@contextmanager
def pages_of(count: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("semblance.service.replication.change_feed.PAGE", count)
        yield


@pytest.fixture
def small_pages() -> Iterator[None]:
    with pages_of(2):
        yield


def content(engine: Engine) -> Content:
    """All content but the epochs, which are new after a restore."""
    return [
        dump(engine, collections, SAME),
        *(dump(engine, table) for table in (aliases, documents, vectors, token_codes)),
    ]


def epochs(engine: Engine) -> set[Any]:
    return set(dump(engine, collections, ["epoch"]))


def save(store: SqlDocumentStore, folder: Path) -> Path:
    folder.mkdir()
    with backup_folder.create(folder) as copy:
        back_up(store, copy, ignore_progress)
    return folder


def restore_from(folder: Path, store: SqlDocumentStore) -> None:
    with backup_folder.open_store(folder, backup_folder.verify(folder)) as backup:
        restore(backup, store, ignore_progress)


def written(store: SqlDocumentStore, steps: Sequence[Step]) -> Writer:
    """Empty a store, and perform steps on it."""
    for former in store.collections():
        store.drop(former.name)
    writer = Writer(store)
    for step in steps:
        writer.perform(step)
    return writer


# two collections with documents, a deleted one, and a re-embedding under way
FILLING: list[Step] = [("upsert", "c", 3), ("upsert", "d", 7), ("begin", "c", 1), ("fill", "c", 1), ("delete", "d", 1)]


def filled(engine: Engine) -> SqlDocumentStore:
    store = written(SqlDocumentStore(engine), FILLING).store
    store.set_alias("alias", "c")
    return store


@pytest.mark.parametrize(("source", "target"), [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "same")])
def test_a_restore_brings_back_the_saved_state(
    opened: Callable[[str], Engine], tmp_path_factory: pytest.TempPathFactory, source: str, target: str
) -> None:
    source_engine = opened(source)
    target_engine = source_engine if target == "same" else opened(target)
    store, other_store = SqlDocumentStore(source_engine), SqlDocumentStore(target_engine)

    @settings(deadline=None, max_examples=5, suppress_health_check=SHARED_FIXTURE)
    @given(
        steps=STEPS, later=STEPS, odd=st.dictionaries(ODD, st.tuples(ODD, METADATA), max_size=3), page=st.integers(1, 9)
    )
    def law(steps: list[Step], later: list[Step], odd: Mapping[str, tuple[str, Any]], page: int) -> None:
        writer = written(store, steps)
        store.create("empty", SETTINGS)
        store.set_alias("nothing", "empty")
        odd_ones, _ = store.create("odd", SETTINGS)
        given_ones = [Document(doc_id, text, more) for doc_id, (text, more) in odd.items()]
        store.upsert(odd_ones, [Write(each, embedding("space-0", each.text)) for each in given_ones])
        with pages_of(page):
            folder = save(store, tmp_path_factory.mktemp("backup") / "made")
            before = content(source_engine)
            if target_engine is not source_engine:
                writer = written(other_store, ())
            for step in later:
                writer.perform(step)
            former = epochs(source_engine) | epochs(target_engine)
            restore_from(folder, other_store)
        assert content(target_engine) == before
        assert not epochs(target_engine) & former
        assert len(epochs(target_engine)) == len(before[0])

    law()


class Recorder:
    """Writes to a store, and records the content of each version of each collection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = Writer(SqlDocumentStore(engine))
        self.states: dict[tuple[str, Version], Content] = {}
        self.remember()

    def remember(self, *names: str) -> None:
        for each in self._writer.store.collections():
            if not names or each.name in names:
                self.states[each.name, each.version] = of_collection(self._engine, each.name)

    def perform(self, step: Step) -> None:
        self._writer.perform(step)
        self.remember(step[1])


class Busy(SqlDocumentStore):
    """A store that is written to before every read."""

    def __init__(self, engine: Engine, steps: Sequence[Step | None]) -> None:
        super().__init__(engine)
        self._steps = list(steps)
        self.recorder = Recorder(engine)

    def collection(self, name: str) -> Collection:
        self._write()
        return super().collection(name)

    def _write(self) -> None:
        if self._steps and (step := self._steps.pop(0)):
            self.recorder.perform(step)

    def document_changes(
        self, name: str, since: Version, cursor: Cursor | None, limit: int
    ) -> ChangePage[DocumentChange]:
        self._write()
        return super().document_changes(name, since, cursor, limit)


def of_collection(engine: Engine, name: str) -> Content:
    """Documents of one collection, and their embeddings by its own encoder."""
    with engine.connect() as connection:
        space = connection.execute(select(collections.c.space).where(collections.c.name == name)).scalar_one()
        found = [connection.execute(select(documents).where(documents.c.collection == name)).all()]
        for table in (vectors, token_codes):
            mine = select(table).where(table.c.collection == name, table.c.space == space)
            found.append(connection.execute(mine).all())
    return [sorted(tuple(map(repr, row)) for row in rows) for rows in found]


@settings(deadline=None, max_examples=10, suppress_health_check=SHARED_FIXTURE)
@given(before=STEPS, concurrent=STEPS, page=st.integers(1, 5))
def test_a_copy_of_a_busy_store_is_consistent_per_collection(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, before: list[Step], concurrent: list[Step], page: int
) -> None:
    written(SqlDocumentStore(engine), before)
    busy = Busy(engine, concurrent)
    copy_engine = sqlite_engine(tmp_path_factory.mktemp("copy") / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    with pages_of(page):
        back_up(busy, copy, ignore_progress)
    copied = copy.collections()
    spaces = dump(copy_engine, vectors, ["collection", "space"])
    for collection in copied:
        assert of_collection(copy_engine, collection.name) == busy.recorder.states[collection.name, collection.version]
        own = {repr(collection.settings.space), repr(collection.reembedding and collection.reembedding.space)}
        stored = {space for name, space in spaces if name == repr(collection.name)}
        assert stored <= own, "no embeddings remain of a re-embedding that is not running"
    copy.close()


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("reads", range(8))
@pytest.mark.parametrize("concurrent", [["begin"], ["begin", "switch"], ["begin", "fill", "drop_reembedding"]])
def test_a_reembedding_during_a_copy_is_copied_settled(tmp_path: Path, concurrent: list[str], reads: int) -> None:
    engine, copy_engine = sqlite_engine(tmp_path / "primary.sqlite"), sqlite_engine(tmp_path / "copy.sqlite")
    Writer(SqlDocumentStore(engine)).perform(("upsert", "c", 3))
    copy = SqlDocumentStore(copy_engine)
    back_up(Busy(engine, [*[None] * reads, *((step, "c", 3) for step in concurrent)]), copy, ignore_progress)
    assert dump(copy_engine, collections, NEXT_ENCODER) == dump(engine, collections, NEXT_ENCODER)
    for table in (vectors, token_codes):
        assert dump(copy_engine, table) == dump(engine, table)
    copy.close()
    engine.dispose()


def test_a_backup_during_writes_holds_consistent_collections(engine: Engine, tmp_path: Path) -> None:
    store, stop = SqlDocumentStore(engine), threading.Event()
    recorders = {name: Recorder(engine) for name in ("c", "d")}

    def write(name: str) -> None:
        for number in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            recorders[name].perform(("delete" if number % 5 == 4 else "upsert", name, number))

    with ThreadPoolExecutor(2) as pool, pages_of(5):
        writing = [pool.submit(write, name) for name in recorders]
        try:
            until(lambda: all(len(each.states) > 20 for each in recorders.values()), "20 writes to each collection")
            folders = [save(store, tmp_path / f"backup-{number}") for number in range(4)]
        finally:
            stop.set()
        for done in writing:
            done.result()
    states, seen = recorders["c"].states | recorders["d"].states, set()
    for folder in folders:
        manifest = backup_folder.verify(folder)
        with backup_folder.open_store(folder, manifest) as backup:
            for each in backup.collections():
                assert of_collection(backup._database.engine, each.name) == states[each.name, each.version]
                seen.add((each.name, each.version))
    assert len(seen) > 4, "versions advanced between the backups"


def statements(engine: Engine, act: Callable[[int], None]) -> None:
    """Call `act` with the number of every statement, and of the commit, before it runs."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1
        act(count)

    for name in ("before_cursor_execute", "commit"):
        event.listen(engine, name, step)


@pytest.mark.usefixtures("small_pages")
def test_a_restore_that_fails_at_any_statement_changes_nothing(engine: Engine, tmp_path: Path) -> None:
    store = filled(engine)
    folder = save(store, tmp_path / "backup")
    written(store, [("upsert", "later", 2)])
    before, former = content(engine), epochs(engine)
    fails_at, armed = 0, True
    seen: list[int] = []

    def fail(number: int) -> None:
        seen.append(number)
        if armed and len(seen) == fails_at:
            raise RuntimeError("fails")

    statements(engine, fail)
    while True:
        fails_at += 1
        seen.clear()
        armed = True
        try:
            restore_from(folder, store)
        except RuntimeError:
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
    folder = save(store, tmp_path / "backup")
    written(store, [("upsert", "later", 2)])
    before = content(engine)
    engine.dispose()  # the child must not inherit its connections

    def die(at: int) -> None:
        statements(engine, lambda number: os._exit(CRASHED) if number == at else None)
        restore_from(folder, store)

    deaths = 0
    for at in range(1, 100, 5):
        status = run_in_fork(partial(die, at))
        if status != CRASHED:
            assert status == 0
            break
        deaths += 1
        assert content(engine) == before
        engine.dispose()
    assert deaths > 4
    assert content(engine) != before


def test_a_replica_follows_a_restore(engine: Engine, tmp_path: Path) -> None:
    store = filled(engine)
    folder = save(store, tmp_path / "backup")
    former = store.collection("c").version
    writer = Writer(store)
    for step in [("switch", "c", 1), ("upsert", "c", 5), ("recreate", "d", 2), ("upsert", "later", 1)]:
        writer.perform(step)
    copy_engine = sqlite_engine(tmp_path / "copy.sqlite")
    copy = SqlDocumentStore(copy_engine)
    copier = Copier(store, copy, DirectWriter())
    for name in ("c", "d", "later"):
        copier(name)
    assert_equal(engine, copy_engine)
    restore_from(folder, store)
    for name in ("c", "d", "later"):
        copier(name)
    assert_equal(engine, copy_engine)
    assert [each.name for each in copy.collections()] == ["c", "d"]
    assert store.collection("c").version.number == former.number
    assert store.collection("c").version.epoch != former.epoch
    copy.close()


def test_a_restore_notifies_of_all_former_and_new_collections(postgres: str, tmp_path: Path) -> None:
    store = filled(postgresql_engine(postgres, connections=2, timeout_s=10))
    folder = save(store, tmp_path / "backup")
    store.drop("d")
    store.create("later", SETTINGS)
    with psycopg.connect(postgres, autocommit=True) as listener:
        listener.execute("LISTEN semblance_changes")
        restore_from(folder, store)
        heard = [each.payload for each in listener.notifies(timeout=CEILING_S, stop_after=3)]
    assert sorted(heard) == ["c", "d", "later"]
    store.close()


def test_during_a_restore_readers_continue_and_writers_wait(postgres: str) -> None:
    store = filled(postgresql_engine(postgres, connections=4, timeout_s=CEILING_S))
    collection = store.collection("d")
    paused, go_on = threading.Event(), threading.Event()

    def pages() -> Iterator[Sequence[DocumentChange]]:
        paused.set()
        assert go_on.wait(CEILING_S)
        yield [DocumentChange(Document("new", "new", {}, version=3), deleted=False, embeddings={})]

    contents = CollectionContents(collection, pages())
    with ThreadPoolExecutor(2) as pool:
        restoring = pool.submit(store.replace_all, [contents], {})
        assert paused.wait(CEILING_S)
        assert [each.name for each in store.collections()] == ["c", "d"]
        assert len(store.scan("d", "", 10)[0]) == 3
        writing = pool.submit(store.upsert, collection, [Write(Document("x", "x", {}), embedding("space-0", "x"))])
        go_on.set()
        restoring.result()
        with pytest.raises(CollectionReplaced):
            writing.result()
    assert [each.id for each in store.scan("d", "", 10)[0]] == ["new"]
    assert [each.name for each in store.collections()] == ["d"]
    store.close()
