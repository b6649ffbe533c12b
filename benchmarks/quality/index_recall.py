"""What are recall, speed and memory of each index engine, with filters and deletions?

    python -m benchmarks.quality.index_recall
    python -m benchmarks.quality.index_recall --synthetic --rows 1000000 --engines faiss_ivf_sq8

indexes vectors of distinct sentences from $SEMBLANCE_DATA/text and searches for other sentences, one query at a time.
It prints milliseconds per query and recall@10 relative to exhaustive search: with filters that pass a share of the
documents, and after half of the documents were deleted. It also prints build time, memory per document, and the time to
add 1,000 documents at several sizes. The first run encodes the sentences, which takes minutes; later ones read the
vectors from benchmarks/results/. With `--synthetic`, vectors are random clusters (tests/support/synthetic_vectors.py).
It fails if any recall is below 0.95.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TypeAlias

import faiss
import numpy as np
from rich.table import Table

from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.service.filters import Filter, parse_filter
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import ENGINES
from semblance_lab.evaluation.statistics import recall
from tests.support.results import save_results
from tests.support.sentence_vectors import sentence_vectors
from tests.support.service_monitor import resident_mb
from tests.support.synthetic_vectors import clustered_vectors
from tests.support.wide_console import wide_console

K = 10
MIN_RECALL = 0.95
SHARES = (0.001, 0.01, 0.1, 0.2, 0.5, 1.0)
TOPICS = 12
PAGE = 2048
BLOCK = 100_000  # rows of one matrix product in exhaustive search: 0.2 GB with all queries
MARKS = (0.25, 0.5, 1.0)  # shares of the rows at which the cost of adding is measured
PAGES = 8  # measured before each mark

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of searches. `allowed` is the share of rows that may be returned."""

    engine: str
    rows: int
    filtered_by: str
    half_dead: bool
    allowed: float
    ms_per_query: float
    recall_at_10: float


@dataclass(frozen=True, slots=True)
class BuildCost:
    """Build time and memory; milliseconds to add 1,000 documents at 1/4, 1/2 and full size.

    Times are CPU times of the indexing process.
    """

    engine: str
    rows: int
    build_s: float
    bytes_per_document: float
    ms_at_a_quarter: float
    ms_at_half: float
    ms_at_the_end: float


@dataclass(frozen=True, slots=True, eq=False)
class SearchCase:
    """A filter and the right hits for each query; `allowed` as in `Row`."""

    filtered_by: str
    half_dead: bool
    allowed: float
    filters: Sequence[Filter | None]
    nearest: Sequence[Mapping[str, float]]


class VectorCollection:
    """Vectors with random metadata and topics, half of which are later deleted.

    A random filter is easy for an index. A filter by topic is hard: all allowed vectors may be far from the query.
    """

    def __init__(self, vectors: Floats) -> None:
        rng = np.random.default_rng(0)
        self.vectors = vectors
        self._place = rng.permutation(len(vectors)) / len(vectors)
        self._dead = rng.permutation(len(vectors)) < len(vectors) // 2
        self._centers = faiss.Kmeans(vectors.shape[1], TOPICS, niter=10, seed=0)
        self._centers.train(vectors[:20_000])
        self._topic = self._topics(vectors)
        self._metadata: dict[tuple[int, int], Mapping[str, bool | int]] = {}

    def changes(self) -> Iterator[list[VectorChange]]:
        """All vectors, in pages like those of a store."""
        for start in range(0, len(self.vectors), PAGE):
            numbers = range(start, min(start + PAGE, len(self.vectors)))
            yield [VectorChange(str(i), 1, self.vectors[i][None], self._labels(i)) for i in numbers]

    def read(self, ids: Sequence[str]) -> Mapping[str, Floats]:
        """Get the vectors of some documents, as from a store."""
        return {doc_id: self.vectors[int(doc_id)][None] for doc_id in ids}

    def deletions(self) -> list[VectorChange]:
        """Deletions of one half of the vectors."""
        return [VectorChange(str(i), 2, None, {}) for i in np.flatnonzero(self._dead)]

    def random_filter(self, queries: Floats, share: float, half_dead: bool) -> SearchCase:
        """Filter that is independent of the vectors."""
        allowed = (self._place < share) & ~(self._dead & half_dead)
        where = None if share == 1 else parse_filter({str(share): True})
        nearest = self._nearest(queries, allowed)
        kind = "nothing" if share == 1 else "chance"
        return SearchCase(kind, half_dead, allowed.mean(), [where] * len(queries), nearest)

    def topic_filter(self, queries: Floats) -> SearchCase:
        """Filter for four topics other than that of the query."""
        query_topics = self._topics(queries)
        nearest: dict[int, Mapping[str, float]] = {}
        filters: dict[int, Filter] = {}
        shares: list[float] = []
        for topic in range(TOPICS):
            others = [(topic + step) % TOPICS for step in (2, 4, 6, 8)]
            rows = np.flatnonzero(query_topics == topic)
            allowed = np.isin(self._topic, others)
            shares += [float(allowed.mean())] * len(rows)
            nearest |= dict(zip(rows.tolist(), self._nearest(queries[rows], allowed), strict=True))
            filters |= dict.fromkeys(rows.tolist(), parse_filter({"topic": {"in": others}}))
        order = range(len(queries))
        return SearchCase("topic", False, fmean(shares), [filters[i] for i in order], [nearest[i] for i in order])

    def _nearest(self, queries: Floats, allowed: Flags) -> list[Mapping[str, float]]:
        """Exhaustive search among the allowed vectors."""
        rows, products = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
        for start in range(0, len(allowed), BLOCK):
            block = start + np.flatnonzero(allowed[start : start + BLOCK])
            if not len(block):
                continue
            block_products = queries @ self.vectors[block].T
            best = np.argpartition(-block_products, min(K, len(block)) - 1, axis=1)[:, :K]
            rows = np.hstack([rows, block[best]])
            products = np.hstack([products, np.take_along_axis(block_products, best, 1)])
        best = np.argsort(-products, axis=1)[:, :K]
        return [dict.fromkeys(map(str, row), 1.0) for row in np.take_along_axis(rows, best, 1)]

    def _topics(self, vectors: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        topics: np.ndarray[tuple[int], np.dtype[np.int64]] = self._centers.index.search(vectors, 1)[1][:, 0]
        return topics

    def _labels(self, number: int) -> Mapping[str, bool | int]:
        """Metadata for filters; equal metadata is one object, so that only the index takes memory."""
        within = sum(self._place[number] < share for share in SHARES)
        key = (within, int(self._topic[number]))
        if key not in self._metadata:
            self._metadata[key] = {str(share): True for share in SHARES[-within:]} | {"topic": key[1]}
        return self._metadata[key]


def measure(
    engine: str, collection: VectorCollection, queries: Floats, cases: Sequence[SearchCase]
) -> tuple[BuildCost, list[Row]]:
    """Measure one engine; cases without deletions come first."""
    size, dim = collection.vectors.shape
    index = CollectionIndex(catalogue.find(ENGINES, engine)(dim, size), "epoch", engine, collection.read)
    cost = _build(engine, index, collection)
    rows: list[Row] = []
    for case in cases:
        if case.half_dead and len(index) == size:
            index.apply(collection.deletions())
        ms, hits = _search(index, queries, case.filters)
        mean_recall = fmean(recall(ids, nearest, K) for ids, nearest in zip(hits, case.nearest, strict=True))
        rows.append(Row(engine, size, case.filtered_by, case.half_dead, case.allowed, ms, mean_recall))
    return cost, rows


def _build(engine: str, index: CollectionIndex, collection: VectorCollection) -> BuildCost:
    _release_memory()
    before_mb, pages_s = resident_mb(os.getpid()), []
    for page in collection.changes():
        start = time.process_time()
        index.apply(page)
        pages_s.append(time.process_time() - start)
    _release_memory()
    count = len(collection.vectors)
    bytes_per_document = (resident_mb(os.getpid()) - before_mb) * 1024**2 / count

    def ms_at(share: float) -> float:
        end = max(1, int(share * (count // PAGE)))  # of whole pages
        return 1000 * median(pages_s[max(0, end - PAGES) : end]) * 1000 / PAGE

    return BuildCost(engine, count, sum(pages_s), bytes_per_document, *map(ms_at, MARKS))


def _release_memory() -> None:
    """Return memory that earlier engines freed; otherwise the next one would reuse it uncounted."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _search(index: CollectionIndex, queries: Floats, filters: Sequence[Filter | None]) -> tuple[float, list[list[str]]]:
    """Milliseconds per query, and the ids found."""
    start = time.perf_counter()
    results = [index.search(query[None], K, where)[1][0] for query, where in zip(queries, filters, strict=True)]
    seconds = time.perf_counter() - start
    return 1000 * seconds / len(queries), [[hit.id for hit in hits] for hits in results]


def _print(costs: Sequence[BuildCost], rows: Sequence[Row]) -> None:
    table = Table("engine", "filter", "dead", "allowed", "ms/query", "recall@10", title=f"{rows[0].rows:,} rows")
    for row in rows:
        dead = "half" if row.half_dead else "none"
        figures = (f"{row.allowed:.1%}", f"{row.ms_per_query:.2f}", f"{row.recall_at_10:.4f}")
        table.add_row(row.engine, row.filtered_by, dead, *figures)
    wide_console().print(table)
    cost_table = Table(
        "engine",
        "build s",
        "bytes/document",
        "at 1/4",
        "at 1/2",
        "at the end",
        title="to build, and CPU ms to add 1,000",
    )
    for cost in costs:
        ms = (f"{each:.0f}" for each in (cost.ms_at_a_quarter, cost.ms_at_half, cost.ms_at_the_end))
        cost_table.add_row(cost.engine, f"{cost.build_s:.1f}", f"{cost.bytes_per_document:,.0f}", *ms)
    wide_console().print(cost_table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="number of indexed sentences")
    parser.add_argument("--queries", type=int, default=500, help="number of queries")
    parser.add_argument("--synthetic", action="store_true", help="clustered random vectors instead of sentences")
    engines = [
        name for name in catalogue.names(ENGINES) if name.startswith("faiss")
    ]  # the others are for tests or for GPUs
    parser.add_argument("--engines", nargs="+", default=engines, help="engines to measure")
    options = parser.parse_args()
    vectors = (clustered_vectors if options.synthetic else sentence_vectors)(options.rows + options.queries)
    collection, queries = VectorCollection(vectors[options.queries :]), vectors[: options.queries]
    cases = [collection.random_filter(queries, share, half_dead=False) for share in SHARES]
    cases.append(collection.topic_filter(queries))
    cases += [collection.random_filter(queries, share, half_dead=True) for share in SHARES]
    measurements = [measure(engine, collection, queries, cases) for engine in options.engines]
    costs, rows = [cost for cost, _ in measurements], [row for _, rows in measurements for row in rows]
    _print(costs, rows)
    name = "index_recall_synthetic" if options.synthetic else "index_recall"
    save_results(name, [[asdict(row) for row in rows], [asdict(cost) for cost in costs]])
    worst = min(rows, key=lambda row: row.recall_at_10)
    if worst.recall_at_10 < MIN_RECALL:
        raise SystemExit(f"recall@10 of {worst.engine} is {worst.recall_at_10:.4f}, below {MIN_RECALL}")


if __name__ == "__main__":
    main()
