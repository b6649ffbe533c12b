"""How the threads of FAISS share the comparison of the lists of one search."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from pyroaring import BitMap

from benchmarks.bounds.bound import at_least, at_most
from semblance.models.embeddings import unit_rows
from semblance.service.indexes.engines.faiss_ivf import FaissIvf
from semblance.service.ports.device import Device

ROWS, DIM, QUERIES = 400_000, 32, 50


@at_least(25, "%")
def share_of_other_threads() -> float:
    """A search of many rows on two cores does a quarter of its work in another thread at least."""
    return _other_threads(cores=2)


@at_most(10, "%")
def share_of_other_threads_on_one_core() -> float:
    """A search on one core leaves other threads asleep."""
    return _other_threads(cores=1)


def _other_threads(cores: int) -> float:
    """Share of the CPU time of searches in other threads than the caller's; it needs no idle core."""
    vectors = unit_rows(np.random.default_rng(0).normal(size=(ROWS, DIM))).astype(np.float32)
    built = FaissIvf(DIM, ROWS)
    built.add(vectors)
    with TemporaryDirectory() as folder:
        built.save(Path(folder) / "rows")
        rows = FaissIvf.load(Path(folder) / "rows", Device(cores=cores))
        process_s, own_s = time.process_time(), time.thread_time()
        for query in vectors[:QUERIES]:
            rows.search(query[None], 10, BitMap(range(ROWS)))
        process_s, own_s = time.process_time() - process_s, time.thread_time() - own_s
    return 100 * (process_s - own_s) / process_s
