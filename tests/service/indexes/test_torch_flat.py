"""What the contract of index engines does not ask of the one that searches on a GPU."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
import torch
from pyroaring import BitMap

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.networks import device_errors
from semblance.service.composition.stores import held_collections
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
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


def drawn(count: int) -> Floats:
    return unit_rows(np.random.default_rng(count).normal(size=(count, DIM))).astype(np.float32)


@pytest.mark.parametrize("scores_bytes", [1, 4 * 5 * 7, 4 * 5 * 300])
@pytest.mark.parametrize("k", [1, 9, 5000])
def test_it_finds_what_one_large_sort_finds_however_many_rows_it_looks_at_together(
    monkeypatch: pytest.MonkeyPatch, scores_bytes: int, k: int, device: Device
) -> None:
    monkeypatch.setattr(device_rows, "SCORES_BYTES", scores_bytes)
    vectors, queries = drawn(700), drawn(5)
    engine, oracle = TorchFlat(DIM, device=device), Exact(DIM)
    for each in (engine, oracle):
        each.add(vectors[:450])
        each.add(vectors[450:])
    for allowed in (BitMap(range(700)), BitMap(range(0, 700, 3)), BitMap([5, 699]), BitMap([0])):
        assert engine.search(queries, k, allowed) == oracle.search(queries, k, allowed)


def test_rows_that_outgrow_the_matrix_keep_their_bits_and_numbers(device: Device) -> None:
    vectors, engine = drawn(5000), TorchFlat(DIM, 10, device)
    for start in range(0, 5000, 300):
        engine.add(vectors[start : start + 300])
    assert len(engine) == 5000
    numbers = [4999, 0, 1024, 17]
    np.testing.assert_array_equal(engine.rows(numbers), vectors[numbers])


def test_it_loads_what_it_saved_and_what_exact_saved(tmp_path: Path, device: Device) -> None:
    vectors, queries = drawn(2000), drawn(3)
    for made in (TorchFlat(DIM, device=device), Exact(DIM)):
        made.add(vectors)
        made.save(tmp_path / made.name)
        loaded = TorchFlat.load(tmp_path / made.name, device)
        np.testing.assert_array_equal(loaded.rows(range(2000)), vectors)
        assert loaded.search(queries, 5, BitMap(range(2000))) == made.search(queries, 5, BitMap(range(2000)))


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(ValueError, match="not rows"):
        TorchFlat.load(tmp_path / "rows")


def collection(engine: str) -> Collection:
    return Collection("c", Version("epoch", 0), CollectionSettings("m", "space", DIM, "cosine", engine, "none"))


def test_the_folder_of_indexes_hands_its_device_to_new_ones_and_to_those_on_disk(tmp_path: Path) -> None:
    asked: list[str] = []
    folder = IndexFolder(tmp_path, Device(lambda: asked.append("") or "cpu"))  # type: ignore[func-returns-value]
    for engine, times in (("exact", 0), ("faiss_flat", 0), ("torch_flat", 2)):
        folder.save(collection(engine), folder.new(collection(engine), 0))
        assert folder.load(collection(engine)) is not None
        assert len(asked) == times


def test_a_service_searches_on_the_device_of_its_settings(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, device="cuda:77")
    SqlDocumentStore(sqlite_engine(settings.database_file)).create("c", collection("torch_flat").settings)

    async def start() -> None:
        async with held_collections(settings, lambda: None):
            pass

    with pytest.raises(NoSuchDevice, match="cuda:77"):
        asyncio.run(start())


def test_whoever_gave_a_device_learns_that_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    told: list[str] = []
    engine = TorchFlat(DIM, device=Device(on_lost=lambda: told.append("lost")))
    engine.add(drawn(5))
    monkeypatch.setattr(engine, "_nearest", fail)
    with pytest.raises(torch.AcceleratorError):  # it answers still
        engine.search(drawn(1), 2, BitMap(range(5)))
    assert told == []
    monkeypatch.setattr(device_errors, "_answers", lambda _: False)
    with pytest.raises(NotReady):
        engine.search(drawn(1), 2, BitMap(range(5)))
    assert told == ["lost"]
