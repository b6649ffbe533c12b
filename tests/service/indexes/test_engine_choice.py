"""Which engine a collection gets, and when its index is rebuilt."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.models.embeddings import Floats, unit_rows
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes import engine_choice
from semblance.service.indexes.collection_index import SPARE_ROWS, CollectionIndex
from semblance.service.indexes.engine_choice import FLAT_ROWS, HNSW_ROWS, engine_for, suits
from semblance.service.indexes.engines import faiss_ivf
from semblance.service.indexes.engines.exact import Exact
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import (
    Collection,
    CollectionSettings,
    Document,
    VectorChange,
    Write,
)
from semblance.service.ports.indexes import ENGINES, VectorIndex, VectorReader
from semblance.service.replication.local_node import LocalNode
from tests.support.vectors import one_passage

DIM = 4


def test_auto_chooses_flat_then_graph_then_lists() -> None:
    sizes = (0, FLAT_ROWS, FLAT_ROWS + 1, HNSW_ROWS, HNSW_ROWS + 1)
    chosen = [engine_for("auto", rows) for rows in sizes]
    assert chosen == ["faiss_flat"] * 2 + ["faiss_hnsw"] * 2 + ["faiss_ivf_sq8"]
    assert set(chosen) <= set(catalogue.names(ENGINES))


@given(st.integers(0, 10 * HNSW_ROWS), st.floats(0.81, 1.24))
def test_an_engine_still_suits_after_growing_by_a_fifth(rows: int, by: float) -> None:
    assert suits(engine_for("auto", rows), "auto", rows)
    assert suits(engine_for("auto", rows), "auto", round(rows * by))
    assert suits("exact", "exact", rows), "one that was configured always does"


def test_an_index_of_mostly_dead_rows_needs_a_rebuild() -> None:
    vectors = unit_rows(np.random.default_rng(0).normal(size=(3 * SPARE_ROWS, DIM))).astype(np.float32)
    index = CollectionIndex(Exact(DIM), "epoch", "exact")
    index.apply([VectorChange(f"d{i}", 1, vector[None], {}) for i, vector in enumerate(vectors)])
    index.apply([VectorChange(f"d{i}", 2, None, {}) for i in range(2 * SPARE_ROWS)])
    assert (index.rows, len(index)) == (3 * SPARE_ROWS, SPARE_ROWS)
    assert not index.needs_rebuild
    index.apply([VectorChange("d2999", 3, None, {})])
    assert index.needs_rebuild


async def built_node(folder: Path, indexes: IndexFolder, engine: str, vectors: Floats, at_once: int) -> LocalNode:
    """A node whose collection has got some vectors at a time, and is built."""
    store = SqlDocumentStore(sqlite_engine(folder / "documents.sqlite"))
    local = LocalNode(store, indexes)
    store.create("c", CollectionSettings("minilm", "space", DIM, "cosine", engine, "none"))
    documents = [Write(Document(f"d{i}", f"text {i}", {}), one_passage(vector)) for i, vector in enumerate(vectors)]
    for start in range(0, len(vectors), at_once):
        writes = documents[start : start + at_once]
        await local.write("c", lambda store, writes=writes: store.upsert(store.collection("c"), writes))  # type: ignore[misc]
    await asyncio.to_thread(local._builder.submit(lambda: None).result)  # the builder has one thread
    return local


async def test_a_growing_collection_changes_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_choice, "FLAT_ROWS", 40)
    vectors = unit_rows(np.random.default_rng(0).normal(size=(60, DIM))).astype(np.float32)
    built: list[str] = []

    class Recording(IndexFolder):
        def new(self, collection: Collection, passages: int, read: VectorReader) -> VectorIndex:
            built.append(engine_for(collection.settings.index, passages))
            return super().new(collection, passages, read)

    local = await built_node(tmp_path, Recording(tmp_path / "indexes"), "auto", vectors, at_once=1)
    index = await local.refresh_index("c")
    assert isinstance(index, CollectionIndex)
    assert index._rows.name == "faiss_hnsw"
    assert [hit.id for hit in index.search(vectors[7:8], 1, None)[1][0]] == ["d7"]
    local.close()
    assert built == ["faiss_flat", "faiss_hnsw"]


async def test_centroids_are_trained_in_the_builder_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_ivf, "MIN_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_PER_ROOT", 0.3)  # four lists
    vectors = unit_rows(np.random.default_rng(0).normal(size=(250, DIM))).astype(np.float32)
    trained_by: list[str] = []

    class Recording(faiss_ivf.FaissIvf):
        def _train(self) -> None:
            trained_by.append(threading.current_thread().name)
            super()._train()

    monkeypatch.setattr(catalogue, "find", lambda *_: Recording)
    local = await built_node(tmp_path, IndexFolder(tmp_path / "indexes"), "faiss_ivf", vectors, at_once=50)
    index = await local.refresh_index("c")
    assert isinstance(index, CollectionIndex)
    assert not index.needs_rebuild
    assert isinstance(index._rows, Recording)
    assert index._rows._trained
    assert [hit.id for hit in index.search(vectors[7:8], 1, None)[1][0]] == ["d7"]
    local.close()
    assert trained_by == ["builder_0"]


def test_lists_are_outgrown_at_twice_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_ivf, "MIN_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_PER_ROOT", 0.4)
    vectors = unit_rows(np.random.default_rng(0).normal(size=(400, DIM))).astype(np.float32)
    rows = faiss_ivf.FaissIvf(DIM, 400)
    rows.add(vectors[:199])
    assert not rows.outgrown(199)
    assert rows.outgrown(200), "200 rows are enough to train centroids"
    rows.add(vectors[199:])
    assert [rows.outgrown(count) for count in (200, 400, 1500, 1600)] == [False, False, False, True]
    np.testing.assert_array_equal(rows.rows(range(400)), vectors)


def test_centroids_are_trained_on_a_sample_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are often sorted, so the first rows would give centroids of few topics."""
    monkeypatch.setattr(faiss_ivf, "MIN_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_PER_ROOT", 0.1)  # four lists, trained on 156 rows
    topics = unit_rows(np.eye(DIM) + 0.01 * np.random.default_rng(0).normal(size=(400, DIM, DIM))).astype(np.float32)
    rows = faiss_ivf.FaissIvf(DIM, 1600)
    rows.add(topics.transpose(1, 0, 2).reshape(-1, DIM))
    assert [rows._index.invlists.list_size(i) for i in range(4)] == [400] * 4


@pytest.mark.parametrize("exponent", [0.5, 1.0])
@pytest.mark.parametrize("one_in", [2, 3])
def test_a_sample_of_many_allowed_rows_suffices(monkeypatch: pytest.MonkeyPatch, one_in: int, exponent: float) -> None:
    """Lists with the allowed rows are far from the query, and as many of them are compared as by a full count."""
    monkeypatch.setattr(faiss_ivf.FaissIvf, "filter_exponent", exponent)
    monkeypatch.setattr(faiss_ivf, "MIN_ROWS", 200)
    monkeypatch.setattr(faiss_ivf, "LISTS_PER_ROOT", 0.4)  # 16 lists
    monkeypatch.setattr(faiss_ivf, "PROBES", 1)
    monkeypatch.setattr(faiss_ivf, "COUNTED_ROWS", 100)
    vectors = unit_rows(np.random.default_rng(0).normal(size=(1600, DIM))).astype(np.float32)
    rows = faiss_ivf.FaissIvf(DIM, 1600)
    rows.add(vectors)
    found = []
    for query in vectors[:30]:
        farthest = np.argsort(vectors @ query)[: 1600 // one_in]
        found += rows.search(query[None], 1600, BitMap(farthest.tolist()))
        assert set(found[-1]) <= set(farthest)
    wanted = 100 * one_in ** (exponent - 1)  # without a filter, a list of about 100 rows is compared
    assert 0.9 * wanted <= np.mean([len(each) for each in found]) <= 2 * wanted, "lists are compared as a whole"
