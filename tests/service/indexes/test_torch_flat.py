"""Behavior of the GPU engine beyond the contract of index engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from pyroaring import BitMap

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.networks import device_errors
from semblance.service.composition.stores import open_stores
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import NoSuchDevice, NotReady
from semblance.service.indexes import device_rows
from semblance.service.indexes.engines.exact import Exact
from semblance.service.indexes.engines.torch_flat import TorchFlat
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.device import Device
from semblance.service.ports.documents import Collection, CollectionSettings, Version
from semblance.service.settings import Settings
from tests.support.devices import DEVICES

DIM = 16


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    return Device(lambda: str(request.param))


def random_rows(count: int) -> Floats:
    return unit_rows(np.random.default_rng(count).normal(size=(count, DIM))).astype(np.float32)


@pytest.mark.parametrize("scores_bytes", [1, 4 * 5 * 7, 4 * 5 * 300])
@pytest.mark.parametrize("k", [1, 9, 5000])
def test_results_do_not_depend_on_the_chunk_size(
    monkeypatch: pytest.MonkeyPatch, scores_bytes: int, k: int, device: Device
) -> None:
    monkeypatch.setattr(device_rows, "SCORES_BYTES", scores_bytes)
    vectors, queries = random_rows(700), random_rows(5)
    engine, oracle = TorchFlat(DIM, device=device), Exact(DIM)
    for each in (engine, oracle):
        each.add(vectors[:450])
        each.add(vectors[450:])
    for allowed in (BitMap(range(700)), BitMap(range(0, 700, 3)), BitMap([5, 699]), BitMap([0])):
        assert engine.search(queries, k, allowed) == oracle.search(queries, k, allowed)


def test_rows_keep_bits_and_numbers_when_the_matrix_grows(device: Device) -> None:
    vectors, engine = random_rows(5000), TorchFlat(DIM, 10, device)
    for start in range(0, 5000, 300):
        engine.add(vectors[start : start + 300])
    assert len(engine) == 5000
    numbers = [4999, 0, 1024, 17]
    np.testing.assert_array_equal(engine.rows(numbers), vectors[numbers])


def test_it_loads_its_own_files_and_those_of_exact(tmp_path: Path, device: Device) -> None:
    vectors, queries = random_rows(2000), random_rows(3)
    for made in (TorchFlat(DIM, device=device), Exact(DIM)):
        made.add(vectors)
        made.save(tmp_path / made.name)
        loaded = TorchFlat.load(tmp_path / made.name, device)
        np.testing.assert_array_equal(loaded.rows(range(2000)), vectors)
        assert loaded.search(queries, 5, BitMap(range(2000))) == made.search(queries, 5, BitMap(range(2000)))


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(ValueError, match="not rows"):
        TorchFlat.load(tmp_path / "rows")


def collection(engine: str) -> Collection:
    return Collection("c", Version("epoch", 0), CollectionSettings("m", "space", DIM, "cosine", engine, "none"))


def no_vectors(_: Sequence[str]) -> Mapping[str, Floats]:
    return {}


def test_new_and_loaded_indexes_get_the_device_of_the_folder(tmp_path: Path) -> None:
    asked: list[str] = []
    folder = IndexFolder(tmp_path, Device(lambda: asked.append("") or "cpu"))  # type: ignore[func-returns-value]
    for engine, times in (("exact", 0), ("faiss_flat", 0), ("torch_flat", 2)):
        folder.save(collection(engine), folder.new(collection(engine), 0, no_vectors))
        assert folder.load(collection(engine), no_vectors) is not None
        assert len(asked) == times


async def test_a_service_searches_on_the_configured_device(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, device="cuda:77")
    SqlDocumentStore(sqlite_engine(settings.database_file)).create("c", collection("torch_flat").settings)

    with pytest.raises(NoSuchDevice, match="cuda:77"):
        async with open_stores(settings, lambda: None):
            pass


def test_a_lost_device_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    reported: list[str] = []
    engine = TorchFlat(DIM, device=Device(on_lost=lambda: reported.append("lost")))
    engine.add(random_rows(5))
    monkeypatch.setattr(engine, "_nearest", fail)
    with pytest.raises(torch.AcceleratorError):  # the device still answers
        engine.search(random_rows(1), 2, BitMap(range(5)))
    assert reported == []
    monkeypatch.setattr(device_errors, "_responds", lambda _: False)
    with pytest.raises(NotReady):
        engine.search(random_rows(1), 2, BitMap(range(5)))
    assert reported == ["lost"]


def test_a_search_without_memory_is_rejected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    reported: list[str] = []
    engine = TorchFlat(DIM, device=Device(on_lost=lambda: reported.append("lost")))
    engine.add(random_rows(5))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_nearest", fail)
        with pytest.raises(NotReady, match="no memory left"):
            engine.search(random_rows(1), 2, BitMap(range(5)))
    assert len(engine.search(random_rows(1), 2, BitMap(range(5)))[0]) == 2
    assert reported == []
