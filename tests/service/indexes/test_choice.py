"""Which engine a collection gets, and when its index is built anew."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.indexes import choice
from semblance.service.indexes.choice import FLAT_ROWS, HNSW_ROWS, engine_for, suits
from semblance.service.indexes.collection_index import SPARE_ROWS, CollectionIndex
from semblance.service.indexes.engines import faiss_ivf
from semblance.service.indexes.engines.exact import Exact
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Change, Collection, CollectionSettings, Document, Embedded, Write
from semblance.service.ports.indexes import ENGINES, VectorIndex
from semblance.service.replication.local_node import LocalCollections

DIM = 4


def test_auto_is_flat_then_a_graph_then_lists() -> None:
    sizes = (0, FLAT_ROWS, FLAT_ROWS + 1, HNSW_ROWS, HNSW_ROWS + 1)
    assert [engine_for("auto", rows) for rows in sizes] == [
        "faiss_flat",
        "faiss_flat",
        "faiss_hnsw",
        "faiss_hnsw",
        "faiss_ivf",
    ]
    assert {engine_for("auto", rows) for rows in sizes} <= set(catalogue.names(ENGINES))


@given(st.integers(0, 10 * HNSW_ROWS), st.floats(0.81, 1.24))
def test_an_index_just_built_suits_and_so_it_does_after_growing_or_shrinking_by_a_fifth(rows: int, by: float) -> None:
    assert suits(engine_for("auto", rows), "auto", rows)
    assert suits(engine_for("auto", rows), "auto", round(rows * by))


@given(st.integers(0, 10 * HNSW_ROWS))
def test_an_engine_that_was_asked_for_suits_always(rows: int) -> None:
    assert suits("exact", "exact", rows)


def test_an_index_is_outgrown_once_more_than_half_of_its_rows_are_dead() -> None:
    vectors = unit_rows(np.random.default_rng(0).normal(size=(3 * SPARE_ROWS, DIM))).astype(np.float32)
    index = CollectionIndex(Exact(DIM), "epoch", "exact")
    index.apply([Change(f"d{i}", 1, vector, {}) for i, vector in enumerate(vectors)])
    index.apply([Change(f"d{i}", 2, None, {}) for i in range(2 * SPARE_ROWS)])
    assert (index.rows, len(index)) == (3 * SPARE_ROWS, SPARE_ROWS)
    assert not index.outgrown
    index.apply([Change("d2999", 3, None, {})])
    assert index.outgrown


def test_a_collection_that_grows_changes_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "FLAT_ROWS", 40)
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    vectors = unit_rows(np.random.default_rng(0).normal(size=(60, DIM))).astype(np.float32)
    built: list[str] = []

    class Noting(IndexFolder):
        def new(self, collection: Collection, documents: int) -> VectorIndex:
            built.append(engine_for(collection.settings.index, documents))
            return super().new(collection, documents)

    async def use() -> None:
        local = LocalCollections(store, Noting(tmp_path / "indexes"))
        store.create("c", CollectionSettings("minilm", "space", DIM, "cosine", "auto", "none"))
        for i, vector in enumerate(vectors):
            write = Write(Document(f"d{i}", f"text {i}", {}), Embedded(vector, truncated=False))
            await local.write("c", lambda store, write=write: store.upsert(store.collection("c"), [write]))  # type: ignore[misc]
        await asyncio.to_thread(local._builder.submit(lambda: None).result)  # it builds one after the other
        index = await local.follow("c")
        assert isinstance(index, CollectionIndex)
        assert index._rows.name == "faiss_hnsw"
        assert [hit.id for hit in index.search(vectors[7:8], 1, None)[1][0]] == ["d7"]
        local.close()

    asyncio.run(use())
    assert built == ["faiss_flat", "faiss_hnsw"]


def test_centroids_are_learned_beside_searches_and_writes_not_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_ivf, "LEAST_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_A_ROOT", 0.3)  # four lists
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    vectors = unit_rows(np.random.default_rng(0).normal(size=(250, DIM))).astype(np.float32)
    trained_by: list[str] = []

    class Noting(faiss_ivf.FaissIvf):
        def _train(self) -> None:
            trained_by.append(threading.current_thread().name)
            super()._train()

    monkeypatch.setattr(catalogue, "find", lambda *_: Noting)

    async def use() -> None:
        local = LocalCollections(store, IndexFolder(tmp_path / "indexes"))
        store.create("c", CollectionSettings("minilm", "space", DIM, "cosine", "faiss_ivf", "none"))
        for start in range(0, 250, 50):
            writes = [
                Write(Document(f"d{i}", "", {}), Embedded(vectors[i], truncated=False))
                for i in range(start, start + 50)
            ]
            await local.write("c", lambda store, writes=writes: store.upsert(store.collection("c"), writes))  # type: ignore[misc]
        await asyncio.to_thread(local._builder.submit(lambda: None).result)  # it builds one after the other
        index = await local.follow("c")
        assert isinstance(index, CollectionIndex)
        assert not index.outgrown
        assert isinstance(index._rows, Noting)
        assert index._rows._trained
        assert [hit.id for hit in index.search(vectors[7:8], 1, None)[1][0]] == ["d7"]
        local.close()

    asyncio.run(use())
    assert trained_by == ["builder_0"]


def test_lists_are_outgrown_once_twice_as_many_would_suit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_ivf, "LEAST_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_A_ROOT", 0.4)
    vectors = unit_rows(np.random.default_rng(0).normal(size=(400, DIM))).astype(np.float32)
    rows = faiss_ivf.FaissIvf(DIM, 400)
    rows.add(vectors[:199])
    assert not rows.outgrown(199)
    assert rows.outgrown(200), "it has no centroids, and 200 rows would do to learn them"
    rows.add(vectors[199:])
    assert [rows.outgrown(count) for count in (200, 400, 1500, 1600)] == [False, False, False, True]
    np.testing.assert_array_equal(rows.rows(range(400)), vectors)


def test_centroids_are_learned_from_rows_all_over_not_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents often come sorted: lists learned from the first topics would leave the others to a few."""
    monkeypatch.setattr(faiss_ivf, "LEAST_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_A_ROOT", 0.1)  # four lists, learned from 156 rows
    topics = unit_rows(np.eye(DIM) + 0.01 * np.random.default_rng(0).normal(size=(400, DIM, DIM))).astype(np.float32)
    rows = faiss_ivf.FaissIvf(DIM, 1600)
    rows.add(topics.transpose(1, 0, 2).reshape(-1, DIM))
    assert [rows._index.invlists.list_size(i) for i in range(4)] == [400] * 4


@pytest.mark.parametrize("engine", [name for name in catalogue.names(ENGINES) if name.startswith("faiss")])
def test_faiss_keeps_to_one_thread_in_whatever_thread_it_is_called(engine: str) -> None:
    """OpenMP has this number for each thread that calls it, not for the process."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(DIM), "epoch", engine)
    vector = unit_rows(np.ones((1, DIM))).astype(np.float32)
    index.apply([Change("d", 1, vector[0], {})])

    def threads() -> int:
        faiss.omp_set_num_threads(2)
        index._rows.search(vector, 1, index._live)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads).result() == 1
