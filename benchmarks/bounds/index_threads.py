"""The share of FAISS's threads in comparing the lists of one search."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from pyroaring import BitMap

from benchmarks.bounds.bound import at_least, at_most
from semblance.models.embeddings import unit_rows
from semblance.service.indexes.engines import faiss_ivf
from semblance.service.ports.device import Device

ROWS, DIM, QUERIES = 60_000, 32, 100
LISTS_PER_ROOT, ROWS_PER_THREAD = 0.5, 10_000  # so that a search compares as many rows as one of millions


@at_least(25, "%")
def share_of_other_threads() -> float:
    """A search of many rows on two cores does a quarter of its work in another thread."""
    return _other_threads(cores=2)


@at_most(10, "%")
def share_of_other_threads_on_one_core() -> float:
    """A search on one core leaves the other threads of FAISS asleep."""
    return _other_threads(cores=1)


def _other_threads(cores: int) -> float:
    """Share of the CPU time of searches in other threads than the caller's, whether or not a core is idle."""
    vectors = unit_rows(np.random.default_rng(0).normal(size=(ROWS, DIM))).astype(np.float32)
    with (
        patch.multiple(faiss_ivf, LISTS_PER_ROOT=LISTS_PER_ROOT, ROWS_PER_THREAD=ROWS_PER_THREAD),
        TemporaryDirectory() as folder,
    ):
        built = faiss_ivf.FaissIvf(DIM, ROWS)
        built.add(vectors)
        built.save(Path(folder) / "rows")
        rows = faiss_ivf.FaissIvf.load(Path(folder) / "rows", Device(cores=cores))
        process_s, own_s = time.process_time(), time.thread_time()
        for query in vectors[:QUERIES]:
            rows.search(query[None], 10, BitMap(range(ROWS // 2)))
        process_s, own_s = time.process_time() - process_s, time.thread_time() - own_s
    return 100 * (process_s - own_s) / process_s
