"""Row numbers for NumPy and FAISS, FAISS's threads, and what it prints."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.faiss_rows import complement, selector
from semblance.service.indexes.postings import row_numbers
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import ENGINES
from tests.support.project import PROJECT

COUNT = 100
FAISS_ENGINES = [name for name in catalogue.names(ENGINES) if name.startswith("faiss")]
ROWS = st.sets(st.integers(0, COUNT - 1))


@given(ROWS)
def test_row_numbers_are_sorted(rows: set[int]) -> None:
    assert row_numbers(BitMap(rows)).tolist() == sorted(rows)


@given(ROWS)
def test_the_complement_has_all_other_rows(rows: set[int]) -> None:
    assert set(complement(BitMap(rows), COUNT)) == set(range(COUNT)) - rows


@given(ROWS)
def test_a_selector_allows_exactly_the_allowed_rows(rows: set[int]) -> None:
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


FULL_LIFE = """
import sys
from pathlib import Path

import numpy as np
from pyroaring import BitMap

from semblance.models import catalogue
from semblance.service.indexes.engines.faiss_ivf import MIN_ROWS
from semblance.service.ports.indexes import ENGINES

engine, file = catalogue.find(ENGINES, sys.argv[1]), Path(sys.argv[2])
vectors = np.random.default_rng(0).normal(size=(MIN_ROWS, 2)).astype(np.float32)
vectors[1::2] = vectors[0]  # many rows in one place
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


@pytest.mark.parametrize("engine", FAISS_ENGINES)
def test_faiss_writes_nothing_into_the_log(engine: str, tmp_path: Path) -> None:
    """It would do so from C, past the JSON lines."""
    command = [sys.executable, "-c", FULL_LIFE, engine, str(tmp_path / "rows")]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=100, check=False)
    assert ran.stderr == ""
    assert ran.stdout == "No space left on device\n" * 2
