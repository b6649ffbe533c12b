"""What the contract of index engines does not ask of the one that searches on a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyroaring import BitMap

from models.embeddings import Floats, unit_rows
from service.indexes import device_rows
from service.indexes.engines.exact import Exact
from service.indexes.engines.torch_flat import TorchFlat

DIM = 16


def drawn(count: int) -> Floats:
    return unit_rows(np.random.default_rng(count).normal(size=(count, DIM))).astype(np.float32)


@pytest.mark.parametrize("scores_bytes", [1, 4 * 5 * 7, 4 * 5 * 300])
@pytest.mark.parametrize("k", [1, 9, 5000])
def test_it_finds_what_one_large_sort_finds_however_many_rows_it_looks_at_together(
    monkeypatch: pytest.MonkeyPatch, scores_bytes: int, k: int
) -> None:
    monkeypatch.setattr(device_rows, "SCORES_BYTES", scores_bytes)
    vectors, queries = drawn(700), drawn(5)
    engine, oracle = TorchFlat(DIM), Exact(DIM)
    for each in (engine, oracle):
        each.add(vectors[:450])
        each.add(vectors[450:])
    for allowed in (BitMap(range(700)), BitMap(range(0, 700, 3)), BitMap([5, 699]), BitMap([0])):
        assert engine.search(queries, k, allowed) == oracle.search(queries, k, allowed)


def test_rows_that_outgrow_the_matrix_keep_their_bits_and_numbers() -> None:
    vectors, engine = drawn(5000), TorchFlat(DIM, expected=10)
    for start in range(0, 5000, 300):
        engine.add(vectors[start : start + 300])
    assert len(engine) == 5000
    numbers = [4999, 0, 1024, 17]
    np.testing.assert_array_equal(engine.rows(numbers), vectors[numbers])


def test_it_loads_what_it_saved_and_what_exact_saved(tmp_path: Path) -> None:
    vectors, queries = drawn(2000), drawn(3)
    for made in (TorchFlat(DIM), Exact(DIM)):
        made.add(vectors)
        made.save(tmp_path / made.name)
        loaded = TorchFlat.load(tmp_path / made.name)
        np.testing.assert_array_equal(loaded.rows(range(2000)), vectors)
        assert loaded.search(queries, 5, BitMap(range(2000))) == made.search(queries, 5, BitMap(range(2000)))


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("wb") as stream:
        np.save(stream, np.ones(3))
    with pytest.raises(ValueError, match="not rows"):
        TorchFlat.load(tmp_path / "rows")
