"""Row numbers for NumPy and FAISS, FAISS's threads, and what it prints."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.engines import faiss_flat, faiss_ivf, faiss_ivf_sq8
from semblance.service.indexes.faiss_rows import complement, selector
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.device import Device
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import ENGINES
from tests.support.project import PROJECT
from tests.support.waiting import CEILING_S

COUNT = 100
FAISS_ENGINES = [name for name in catalogue.names(ENGINES) if name.startswith("faiss")]
ROWS = st.sets(st.integers(0, COUNT - 1))


@given(ROWS)
def test_numbers_complements_and_selectors_are_those_of_the_allowed_rows(rows: set[int]) -> None:
    assert row_numbers(BitMap(rows)).tolist() == sorted(rows)
    assert set(complement(BitMap(rows), COUNT)) == set(range(COUNT)) - rows
    chosen = selector(BitMap(rows), COUNT)
    assert [row for row in range(COUNT) if chosen is None or chosen.is_member(row)] == sorted(rows)
    assert (chosen is None) == (len(rows) == COUNT)


@pytest.mark.parametrize("engine", FAISS_ENGINES)
def test_faiss_uses_one_thread_whatever_thread_calls_it(engine: str) -> None:
    """OpenMP has this setting per calling thread, not per process."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(4), "epoch", engine)
    vector = unit_rows(np.ones((1, 4))).astype(np.float32)
    index.apply([VectorChange("d", 1, vector[0][None], {})])

    def threads() -> int:
        faiss.omp_set_num_threads(2)
        index._rows.search(vector, 1, index._documents._live)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads).result() == 1


@pytest.mark.parametrize("module", [faiss_ivf, faiss_ivf_sq8])
def test_many_rows_of_lists_are_compared_by_several_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: ModuleType
) -> None:
    """That they share the work is a bound in benchmarks/bounds/index_threads.py."""
    monkeypatch.setattr(module, "LISTS_PER_ROOT", 0.2)
    monkeypatch.setattr(faiss_ivf, "MIN_ROWS", 1000)
    monkeypatch.setattr(faiss_ivf_sq8, "RANGE_ROWS", 500)
    count, dim = 2000, 8
    engine = catalogue.find(ENGINES, module.__name__.rpartition(".")[2])
    vectors = unit_rows(np.random.default_rng(0).normal(size=(count, dim))).astype(np.float32)
    built = engine(dim, count)
    built.add(vectors)
    built.save(tmp_path / "rows")
    allowed = BitMap(range(count // 2))
    found, used = [], []
    for cores, rows_per_thread in ((1, 10), (2, 1000 * count), (2, 10)):
        monkeypatch.setattr(faiss_ivf, "ROWS_PER_THREAD", rows_per_thread)
        rows = engine.load(tmp_path / "rows", Device(cores=cores))
        search = rows._index.search

        def recorded(*arguments: Any, index: Any = rows._index, search: Any = search, **options: Any) -> Any:
            used.append((faiss.omp_get_max_threads(), index.parallel_mode))
            return search(*arguments, **options)

        monkeypatch.setattr(rows._index, "search", recorded)
        found.append(rows.search(vectors[:5], 10, allowed))
    assert found[0] == found[1] == found[2]
    assert used == [(threads, faiss_ivf.ACROSS_LISTS) for threads in (1, 1, 2) for _ in range(5)]


FULL_LIFE = """
import sys
from pathlib import Path

import numpy as np
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.service.indexes.engines.faiss_ivf import MIN_ROWS
from semblance.service.ports.indexes import ENGINES

file, engines = Path(sys.argv[1]), [catalogue.find(ENGINES, name) for name in sys.argv[2:]]
vectors = np.random.default_rng(0).normal(size=(MIN_ROWS, 2)).astype(np.float32)
vectors[1::2] = vectors[0]  # many rows in one place
for engine in engines:
    rows = engine(2, MIN_ROWS)
    for start in range(0, MIN_ROWS, 1000):
        rows.add(vectors[start : start + 1000])
    rows.save(file)
    engine.load(file).search(vectors[:1], 5, BitMap(range(0, MIN_ROWS, 3)))
    for few in (engine(2), rows):  # FAISS would find the disk full when it closes the file of the first
        try:
            few.save(Path("/dev/full"))
        except OSError as error:
            print(error.strerror)
"""


def test_faiss_writes_nothing_into_the_log(tmp_path: Path) -> None:
    """It would do so from C, past the JSON lines."""
    command = [sys.executable, "-c", FULL_LIFE, str(tmp_path / "rows"), *FAISS_ENGINES]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=CEILING_S, check=False)
    assert ran.stderr == ""
    assert ran.stdout == "No space left on device\n" * 2 * len(FAISS_ENGINES)


@given(rows=ROWS.filter(len), k=st.integers(1, 60), least=st.floats(-0.5, 1), seed=st.integers(0, 9))
def test_rows_above_a_threshold_are_the_nearest_that_reach_it(rows: set[int], k: int, least: float, seed: int) -> None:
    """Also across blocks."""
    random = np.random.default_rng(seed)
    vectors = unit_rows(random.normal(size=(COUNT, 3))).astype(np.float32)
    queries = unit_rows(random.normal(size=(5, 3))).astype(np.float32)
    engine = faiss_flat.FaissFlat(3)
    engine.add(vectors)
    with mock.patch.object(faiss_flat, "BLOCK_ROWS", 32):
        above = engine.search_above(queries, k, BitMap(rows), least)
    products = queries.astype(np.float64) @ vectors.T
    for own, found, nearest in zip(products, above, engine.search(queries, k, BitMap(rows)), strict=True):
        reached = [row for row in nearest if own[row] >= least + 1e-6]
        assert [*found[: len(reached)]] == [*reached]
        assert rows.issuperset(found)
        assert all(own[row] >= least - 1e-6 for row in found) or [*found] == [*nearest]
