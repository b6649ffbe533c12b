"""Row numbers for NumPy and FAISS, and FAISS's threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

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

COUNT = 100
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


@pytest.mark.parametrize("engine", [name for name in catalogue.names(ENGINES) if name.startswith("faiss")])
def test_faiss_uses_one_thread_whatever_thread_calls_it(engine: str) -> None:
    """OpenMP has this setting per calling thread, not per process."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(4), "epoch", engine)
    vector = unit_rows(np.ones((1, 4))).astype(np.float32)
    index.apply([VectorChange("d", 1, vector[0], {})])

    def threads() -> int:
        faiss.omp_set_num_threads(2)
        index._rows.search(vector, 1, index._live)
        return int(faiss.omp_get_max_threads())

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads).result() == 1
