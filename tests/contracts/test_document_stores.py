"""Laws of every document store."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, Table, update

from semblance.models.embeddings import unit_rows
from semblance.models.tokenization.passages import Cut
from semblance.service.documents import reembeddings
from semblance.service.documents.databases import sqlite
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.reembeddings import UNFILLED_CHARS
from semblance.service.documents.rows import PAGE_BYTES, PASSAGES_PER_QUERY
from semblance.service.documents.schema import documents, token_codes, vectors
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import (
    CollectionDiffers,
    CollectionReplaced,
    DocumentChanged,
    HistoryLost,
    StoreFull,
    TextChanged,
    UnknownCollection,
    UnknownDocument,
    VersionMismatch,
)
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.engines.exact import Exact
from semblance.service.ports.documents import (
    CollectionSettings,
    Commit,
    Cursor,
    Document,
    DocumentEmbedding,
    PassageKey,
    Reembedding,
    Version,
    Write,
)
from semblance.service.replication.change_feed import catch_up, read_pages

DIM = 4
SETTINGS = CollectionSettings("minilm", "space-1", DIM, "cosine", "exact", "int8")


@pytest.fixture
def store(engine: Engine) -> SqlDocumentStore:
    """A store with an empty collection, c."""
    return with_collection(engine)


def with_collection(engine: Engine) -> SqlDocumentStore:
    store = SqlDocumentStore(engine)
    store.create("c", SETTINGS)
    return store


def document_embedding(seed: int) -> DocumentEmbedding:
    """One passage, or two where the seed is a multiple of 5."""
    passages = 2 if seed % 5 == 0 else 1
    return DocumentEmbedding(
        vectors=unit_rows(np.random.default_rng(seed).normal(size=(passages, DIM))).astype(np.float32),
        truncated=seed % 2 == 1,
        spans=np.array([(0, 2), (1, 4)], np.int32) if passages > 1 else None,
        codes=[bytes([seed % 256, i]) * 3 for i in range(passages)],
        code_error=seed / 1000,
    )


def new(doc_id: str, text: str = "text", seed: int = 1, **metadata: object) -> Write:
    return Write(Document(doc_id, text, metadata), document_embedding(seed))


def upsert(store: SqlDocumentStore, writes: list[Write], name: str = "c") -> Version:
    return store.upsert(store.collection(name), writes)


def test_a_write_is_read_back_unchanged(store: SqlDocumentStore) -> None:
    metadata: dict[str, object] = {"tags": ["a", 1, None], "deep": {"x": [1.5, True]}}
    version = upsert(store, [new("ü/1 🙂", "Ein Text", 1, **metadata)])
    assert version.number == 1
    expected = Document("ü/1 🙂", "Ein Text", metadata, truncated=True, version=1)
    assert store.get("c", ["ü/1 🙂", "other"]) == {expected.id: expected}
    assert store.codes("c", [PassageKey("ü/1 🙂", 0)], "space-1") == {PassageKey("ü/1 🙂", 0): b"\x01\x00" * 3}


def test_passages_are_read_one_by_one(store: SqlDocumentStore) -> None:
    cut = SETTINGS.cut_as(Cut(64, 1))
    store.drop("c")
    store.create("c", cut)
    upsert(store, [new("whole", seed=1), new("cut", seed=5), new("also cut", seed=10)])
    keys = [PassageKey("whole", 0), PassageKey("cut", 1), PassageKey("also cut", 1), PassageKey("cut", 0)]
    codes = [b"\x01\x00", b"\x05\x01", b"\x0a\x01", b"\x05\x00"]
    missing = [PassageKey("cut", 2), PassageKey("none", 0)]
    assert store.codes("c", keys + missing, cut.generation) == dict(
        zip(keys, [3 * each for each in codes], strict=True)
    )
    assert store.codes("c", keys, "space-1") == {}
    read = store.get_cut("c", ["whole", "cut", "none"])
    assert read.collection == store.collection("c")
    assert set(read.documents) == {"whole", "cut"}
    assert [read.span(key) for key in keys[:2]] == [(0, 4), (1, 4)]
    assert read.texts([*keys, *missing]) == dict(zip([keys[0], keys[1], keys[3]], ["text", "ext", "te"], strict=True))
    [(_, size)] = store.sizes(["c"])
    assert (size.documents, size.passages) == (3, 5)
    assert size.bytes_per_document == 5 * (4 * DIM + 6) / 3
    [changes] = [store.vector_changes("c", Version(store.collection("c").version.epoch, 0), None, 9).changes]
    assert [each.vectors is not None and each.vectors.shape for each in changes] == [(2, DIM), (2, DIM), (1, DIM)]
    collection, states = store.vector_states("c", [*(each.id for each in changes), "missing"], cut.generation)
    assert collection == store.collection("c")
    assert {doc_id: (each.version, each.metadata) for doc_id, each in states.items()} == {
        each.id: (each.version, each.metadata) for each in changes
    }
    for each in changes:
        assert np.asarray(states[each.id].vectors).tolist() == np.asarray(each.vectors).tolist()
    assert store.vector_states("c", ["cut"], "another generation") == (collection, {})
    store.delete("c", "cut")
    assert store.vector_states("c", ["cut"], cut.generation)[1] == {}
    assert store.codes("c", keys, cut.generation).keys() == {keys[0], keys[2]}
    assert store.sizes(["c"])[0][1].passages == 3


def test_embeddings_of_any_number_of_documents_are_read(store: SqlDocumentStore) -> None:
    seeds = {f"d{i:04}": 5 * i + 1 for i in range(2 * PASSAGES_PER_QUERY + 1)}  # more than a query reads
    upsert(store, [new(doc_id, seed=seed) for doc_id, seed in seeds.items()])
    store.delete("c", "d0007")
    found = store.vectors("c", [*seeds, "missing"], SETTINGS.generation)
    assert found.keys() == seeds.keys() - {"d0007"}
    assert all(np.array_equal(found[each], document_embedding(seeds[each]).vectors) for each in found)
    assert store.vectors("c", ["d0001"], "another generation") == {}
    assert store.vectors("another", ["d0001"], SETTINGS.generation) == {}
    keys = [PassageKey(doc_id, 0) for doc_id in seeds]
    assert store.codes("c", keys, SETTINGS.generation).keys() == {key for key in keys if key.document in found}
    assert store.codes("c", [], SETTINGS.generation) == {}


def test_create_is_idempotent_and_refuses_other_settings(store: SqlDocumentStore) -> None:
    first, was_new = store.create("new", SETTINGS)
    second, still_new = store.create("new", SETTINGS)
    assert (was_new, still_new, first) == (True, False, second)
    with pytest.raises(CollectionDiffers):
        store.create("new", CollectionSettings("minilm", "space-1", DIM, "rcmd", "exact", "none"))


def test_a_recreated_collection_is_empty_with_a_new_epoch(store: SqlDocumentStore) -> None:
    first = store.collection("c")
    upsert(store, [new("d")])
    store.drop("c")
    second, _ = store.create("c", SETTINGS)
    assert second.version.epoch != first.version.epoch
    assert second.version.number == 0
    assert store.get("c", ["d"]) == {}
    assert store.get_at("c", ["d"]) == (second, {})
    assert store.codes("c", [PassageKey("d", 0)], "space-1") == {}


def test_errors_name_what_is_missing(store: SqlDocumentStore) -> None:
    for call in (
        lambda: store.collection("no"),
        lambda: store.drop("no"),
        lambda: store.get("no", ["d"]),
        lambda: store.scan("no", "", 1),
        lambda: store.vector_changes("no", Version("e", 0), None, 1),
        lambda: store.vector_states("no", [], "g"),
        lambda: upsert(store, [new("d")], "no"),
    ):
        with pytest.raises(UnknownCollection, match="'no'"):
            call()
    with pytest.raises(UnknownDocument, match="'d'"):
        store.delete("c", "d")
    assert store.collection("c").version.number == 0, "a refused write does not advance the version"


def test_a_write_to_a_recreated_collection_is_refused(store: SqlDocumentStore) -> None:
    """Otherwise vectors and token codes of the old settings would enter the new collection."""
    old = store.collection("c")
    store.drop("c")
    store.create("c", SETTINGS)
    with pytest.raises(CollectionReplaced):
        store.upsert(old, [new("d")])
    assert store.get("c", ["d"]) == {}
    assert store.collection("c").version.number == 0


def test_metadata_alone_changes_only_with_an_equal_text(store: SqlDocumentStore) -> None:
    upsert(store, [new("d", "text", 3, a=1)])
    upsert(store, [Write(Document("d", "text", {"a": 2}), None)])
    assert store.get("c", ["d"])["d"].metadata == {"a": 2}
    assert store.codes("c", [PassageKey("d", 0)], "space-1") == {PassageKey("d", 0): b"\x03\x00" * 3}
    with pytest.raises(TextChanged):
        upsert(store, [new("e"), Write(Document("d", "other", {}), None), Write(Document("f", "x", {}), None)])
    assert store.get("c", ["e"]) == {}, "all or nothing"
    assert store.collection("c").version.number == 2


def test_scan_pages_through_all_documents_by_id(store: SqlDocumentStore) -> None:
    upsert(store, [new(f"d{i:02}") for i in range(10)])
    store.delete("c", "d03")
    first, more = store.scan("c", "", 4)
    rest, still_more = store.scan("c", first[-1].id, 100)
    assert (more, still_more) == (True, False)
    assert [document.id for document in first + rest] == [f"d{i:02}" for i in range(10) if i != 3]


def test_a_page_ends_where_texts_are_long(store: SqlDocumentStore) -> None:
    start = store.collection("c")
    lengths = {"a": PAGE_BYTES // 3, "b": PAGE_BYTES // 2, "c": PAGE_BYTES // 3, "d": PAGE_BYTES + 1, "e": 4}
    upsert(store, [new(doc_id, length * "x") for doc_id, length in lengths.items()])
    after, pages, more = "", [], True
    while more:
        page, more = store.scan("c", after, 9)
        pages.append([each.id for each in page])
        after = page[-1].id
    assert pages == [["a", "b"], ["c"], ["d"], ["e"]]
    by_vector = read_pages(partial(store.vector_changes, "c"), start.version)
    assert [[each.id for each in page.changes] for page in by_vector] == pages
    by_document = read_pages(partial(store.document_changes, "c"), start.version)
    assert [[each.document.id for each in page.changes] for page in by_document] == pages


def test_a_page_for_copies_ends_where_token_codes_are_long(store: SqlDocumentStore) -> None:
    start = store.collection("c")
    half = replace(document_embedding(1), codes=[bytes(PAGE_BYTES // 2)])
    upsert(store, [Write(Document(doc_id, "text", {}), half) for doc_id in "abc"])
    pages = [page.changes for page in read_pages(partial(store.document_changes, "c"), start.version)]
    assert [len(page) for page in pages] == [1, 1, 1]
    assert [each.embeddings["space-1"].codes for page in pages for each in page] == 3 * [half.codes]


def test_long_documents_are_re_embedded_a_few_at_a_time(store: SqlDocumentStore) -> None:
    lengths = {"a": UNFILLED_CHARS // 2, "b": UNFILLED_CHARS // 3, "c": UNFILLED_CHARS // 2, "d": 2 * UNFILLED_CHARS}
    upsert(store, [new(doc_id, length * "x") for doc_id, length in lengths.items()])
    collection = store.begin_reembedding(store.collection("c"), Reembedding("other", "space-2", DIM))
    steps = []
    while (unfilled := store.unfilled("c", 9))[0]:
        steps.append((unfilled[0], [each.id for each in unfilled[1]]))
        store.fill(collection, [(each, document_embedding(2)) for each in unfilled[1]])
    assert steps == [(4, ["a", "b"]), (2, ["c"]), (1, ["d"])]


def test_a_switch_updates_what_is_truncated_in_pages(store: SqlDocumentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembeddings, "UPDATED_DOCUMENTS", 2)
    upsert(store, [new(f"d{i}", seed=i) for i in range(9)])
    collection = store.begin_reembedding(store.collection("c"), Reembedding("other", "space-2", DIM))
    store.fill(collection, [(each, document_embedding(each.id == "d3")) for each in store.unfilled("c", 9)[1]])
    store.switch("c")
    assert [each.id for each in store.scan("c", "", 9)[0] if each.truncated] == ["d3"]
    assert store.damaged_rows("c") == []


def test_sizes_count_what_is_stored_now(store: SqlDocumentStore) -> None:
    empty = store.sizes(["c"])[0][1]
    assert (empty.documents, empty.truncated) == (0, 0)
    upsert(store, [new("a", seed=6), new("b", seed=7), new("c", seed=3), new("d", seed=5)])
    upsert(store, [new("c", "shorter", seed=4)])
    store.delete("c", "d")
    [(_, size)] = store.sizes()
    assert store.sizes(["c"]) == [(store.collection("c"), size)]
    assert (size.documents, size.truncated, size.bytes_per_document) == (3, 1, 4 * DIM + 6)
    assert size.token_error == pytest.approx(0.007)


@pytest.mark.slow
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True)), max_size=12
    ),
    page=st.integers(1, 7),
    stops=st.integers(0, 12),
)
def test_an_index_catches_up_for_any_page_size(
    store: SqlDocumentStore, steps: list[tuple[bool, list[int]]], page: int, stops: int
) -> None:
    for former in store.collections():
        store.drop(former.name)
    store.create("c", SETTINGS)
    index = CollectionIndex(Exact(DIM), store.collection("c").version.epoch, "exact")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("semblance.service.replication.change_feed.PAGE", page)
        for number, (deletes, ids) in enumerate(steps):
            if deletes and store.get("c", [f"d{ids[0]}"]):
                store.delete("c", f"d{ids[0]}")
            else:
                upsert(store, [new(f"d{i}", f"text {number}", seed=number * 10 + i) for i in ids])
            if number == stops:
                catch_up(partial(store.vector_changes, "c"), index)
        catch_up(partial(store.vector_changes, "c"), index)
    stored = {document.id for document in store.scan("c", "", 100)[0]}
    found = index.search(document_embedding(1).vectors, 100, None)[1][0]
    assert {hit.id for hit in found} == stored
    assert index.version == store.collection("c").version


def test_a_page_is_complete_only_up_to_finished_versions(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    of_a = upsert(store, [new(f"a{i}") for i in range(3)])
    of_b = upsert(store, [new(f"b{i}") for i in range(3)])
    first = store.vector_changes("c", created.version, None, 2)
    assert (first.complete, first.cursor) == (created.version, Cursor(1, "a1", of_b))
    second = store.vector_changes("c", created.version, first.cursor, 1)
    assert (second.complete, [change.id for change in second.changes]) == (of_a, ["a2"])
    third = store.vector_changes("c", created.version, second.cursor, 9)
    assert (third.complete, third.cursor) == (of_b, None)


def test_changes_since_a_lost_version_are_refused(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    first = upsert(store, [new("a")])
    second = upsert(store, [new("b")])
    lost = [replace(first, commit="another"), replace(second, commit="another"), replace(second, number=3)]
    for version in lost:
        assert not store.has_version("c", version)
        for changes in (store.vector_changes, store.document_changes):
            with pytest.raises(HistoryLost, match=str(version)):
                changes("c", version, None, 9)
            with pytest.raises(HistoryLost, match=str(version)):
                changes("c", created.version, Cursor(1, "a", version), 9)
    for version in (created.version, first, second, replace(first, commit="")):  # an earlier release has no commits
        assert store.has_version("c", version)
        assert store.vector_changes("c", version, None, 9).complete == second


def test_commits_of_a_page_are_those_since_its_start(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    versions = [upsert(store, [new(doc_id)]) for doc_id in "abc"]
    page = store.document_changes("c", versions[0], None, 9)
    assert page.commits == [Commit(version.number, version.commit) for version in versions[1:]]
    assert len({version.commit for version in versions}) == 3
    assert store.document_changes("c", created.version, None, 1).commits == (), "only on the last page"


def test_rows_with_changed_bytes_are_found(store: SqlDocumentStore, engine: Engine) -> None:
    upsert(store, [new(doc_id, f"text of {doc_id}", tags=["a", 1.5, None]) for doc_id in "abcdef"])
    store.delete("c", "f")
    relabeled = Write(Document("e", "text of e", {"new": True}), embedding=None)
    upsert(store, [relabeled])
    assert store.damaged_rows("c") == []
    changes: list[tuple[Table, str, dict[str, object]]] = [
        (documents, "a", {"text": "text of A"}),
        (documents, "b", {"metadata": {"tags": ["a", 1.5, "null"]}}),
        (vectors, "c", {"vector": document_embedding(2).vectors.tobytes()}),
        (token_codes, "d", {"codes": b"\1\1\2"}),
    ]
    with engine.begin() as connection:
        for table, doc_id, values in changes:
            connection.execute(update(table).where(table.c.id == doc_id).values(**values))
    assert store.damaged_rows("c") == [
        "'a' is damaged: its text or metadata",
        "'b' is damaged: its text or metadata",
        "'c' is damaged: its vector",
        "'d' is damaged: its token codes",
    ]
    upsert(store, [new(doc_id) for doc_id in "abcd"])
    assert store.damaged_rows("c") == [], "storing a document again repairs it"


def test_concurrent_writers_lose_nothing_and_share_no_version(store: SqlDocumentStore) -> None:

    def work(name: int) -> list[int]:
        return [upsert(store, [new(f"w{name}-{i}"), new("shared", f"{name} {i}")]).number for i in range(10)]

    with ThreadPoolExecutor(4) as pool:
        versions = [version for each in pool.map(work, range(4)) for version in each]
    assert sorted(versions) == list(range(1, 41))
    assert store.sizes(["c"])[0][1].documents == 41


def test_the_check_of_a_write_sees_what_it_replaces(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    upsert(store, [new("a", tenant="x"), new("b", tenant="y"), new("gone")])
    store.delete("c", "gone")
    seen: list[dict[str, object]] = []

    def refuse(stored: Mapping[str, Document]) -> None:
        seen.append({doc_id: each.metadata for doc_id, each in stored.items()})
        raise PermissionError

    before = store.get_at("c", ["a", "b", "gone", "new"])
    writes = [new(doc_id, "other") for doc_id in ("a", "gone", "new")]
    refusals: list[Callable[[], Version]] = [
        lambda: store.upsert(store.collection("c"), writes, refuse),
        lambda: store.delete("c", "b", created.version, refuse),  # before it is found to have changed
        lambda: store.delete("c", "gone", require=refuse),
    ]
    for refused in refusals:
        with pytest.raises(PermissionError):
            refused()
    assert seen == [{"a": {"tenant": "x"}}, {"b": {"tenant": "y"}}, {}]
    assert store.get_at("c", ["a", "b", "gone", "new"]) == before, "a refused write changes nothing"
    store.upsert(store.collection("c"), writes, lambda _: None)
    store.delete("c", "b", require=lambda _: None)
    assert store.get("c", ["a", "b", "gone", "new"]).keys() == {"a", "gone", "new"}


def test_a_conditional_write_needs_an_unchanged_document(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    first = upsert(store, [new("a"), new("b")])
    second = upsert(store, [new("a", "changed")])
    refusals: list[Callable[[], Version]] = [
        lambda: upsert(store, [replace(new("b"), if_version=first), replace(new("a"), if_version=first)]),
        lambda: upsert(store, [replace(new("a"), if_version=created.version)]),
        lambda: store.delete("c", "a", first),
    ]
    for refused in refusals:
        with pytest.raises(DocumentChanged, match="'a' changed"):
            refused()
    assert store.collection("c").version == second, "nothing is stored of a refused write"
    for unknown in (replace(second, commit="another"), replace(second, epoch="another"), replace(second, number=9)):
        with pytest.raises(VersionMismatch):
            upsert(store, [replace(new("a"), if_version=unknown)])
    upsert(store, [replace(new("b"), if_version=first), replace(new("new"), if_version=first)])
    third = upsert(store, [replace(new("a", "again"), if_version=second)])
    gone = store.delete("c", "a", third)
    with pytest.raises(DocumentChanged):
        upsert(store, [replace(new("a"), if_version=third)])
    upsert(store, [replace(new("a"), if_version=gone)])
    assert (gone.number, gone.epoch) == (third.number + 1, created.version.epoch)


def test_many_documents_are_deleted_by_one_write(store: SqlDocumentStore) -> None:
    created = store.collection("c")
    upsert(store, [new(f"d{i:04}", seed=5) for i in range(2500)])
    read = upsert(store, [new("kept")])
    upsert(store, [new("d0007", "rewritten")])
    version, count = store.delete_many("c", [*(f"d{i:04}" for i in range(2499)), "none"], read)
    assert (version.number, count) == (4, 2498)
    assert sorted(store.get("c", ["d0000", "d0007", "d2499", "kept"])) == ["d0007", "d2499", "kept"]
    assert store.sizes(["c"])[0][1].documents == 3
    assert store.codes("c", [PassageKey("d0000", 0)], "space-1") == {}
    page = store.vector_changes("c", read, None, 3000)
    assert sum(each.vectors is None for each in page.changes) == 2498
    assert store.delete_many("c", ["d0007", "d0000"])[1] == 1
    with pytest.raises(CollectionReplaced):
        store.delete_many("c", ["kept"], replace(created.version, epoch="another"))
    assert store.get("c", ["kept"])


def test_of_concurrent_conditional_writes_one_succeeds(store: SqlDocumentStore) -> None:
    read = upsert(store, [new("counter", "0")])

    def work(name: int) -> str:
        try:
            upsert(store, [replace(new("counter", str(name)), if_version=read)])
        except DocumentChanged:
            return "refused"
        return "stored"

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(4))) == ["refused"] * 3 + ["stored"]


def test_sqlite_commits_durably(tmp_path: Path) -> None:
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    with sqlite_engine(tmp_path / "d.sqlite").connect() as connection:
        assert {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in expected} == expected


def test_a_reopened_store_has_all_acknowledged_writes(tmp_path: Path) -> None:
    file = tmp_path / "documents.sqlite"
    first = with_collection(sqlite_engine(file))
    version = upsert(first, [new("d")])
    again = SqlDocumentStore(sqlite_engine(file))  # without closing the first store, as after a crash
    assert again.collection("c").version == version
    assert list(again.get("c", ["d"])) == ["d"]
    first.close()
    again.close()
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_database_errors_show_no_document_text(tmp_path: Path) -> None:
    """Errors are logged, and texts must not be."""
    engine = sqlite_engine(tmp_path / "documents.sqlite")
    store = with_collection(engine)
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 2}")  # as on a full disk

    def fill() -> None:
        for i in range(1000):
            upsert(store, [new(str(i), "MY SECRET TEXT " * 100)])

    with pytest.raises(StoreFull) as failure:
        fill()
    assert "SECRET" not in f"{failure.value} {failure.value.__cause__}"
    assert not store.writable
    assert store.sizes(["c"])[0][1].documents == store.collection("c").version.number, "no write is stored in part"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={2 * pages + 100}")
    upsert(store, [new("small")])
    assert store.writable


@pytest.mark.slow
def test_the_write_ahead_log_stays_short_during_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With overlapping readers, as in a busy service, SQLite alone would never truncate its log."""
    bound, text = 1 << 20, "x" * 100_000
    monkeypatch.setattr(sqlite, "MAX_LOG_BYTES", bound)
    engine = sqlite_engine(tmp_path / "documents.sqlite")
    store = with_collection(engine)
    upsert(store, [new(f"d{i}", text) for i in range(5)])
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            with engine.connect() as connection:
                connection.exec_driver_sql("SELECT count(*) FROM documents")
                done.wait(0.02)  # holds its snapshot until the next reader has begun

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            lengths = []
            for i in range(60):
                upsert(store, [new("d", f"{i}{text}")])
                lengths.append((tmp_path / "documents.sqlite-wal").stat().st_size)
        finally:
            done.set()
        for reader in readers:
            reader.result()
    assert max(lengths) < 2 * bound
    assert lengths.count(0) >= 3, "it was truncated repeatedly"
    assert store.get("c", ["d"])["d"].text == f"59{text}"
    store.close()
