"""What does each index engine find, how fast, what does it take to build, and what do filters and deletions cost it?

    python -m benchmarks.quality.index_recall
    python -m benchmarks.quality.index_recall --synthetic --rows 1000000 --engines faiss_ivf

indexes vectors of distinct sentences from $SEMBLANCE_DATA/text, searches them one query at a time with sentences that
are not among them, and prints milliseconds a query, and recall@10 against a plain look at all of them: for filters that
let through a share of the documents, and after half of them were deleted. Beside it stand the time to build, memory a
document, and milliseconds that a thousand documents more take when the index holds some and when it holds many. The
first run encodes the sentences, which takes minutes; later ones read the vectors from benchmarks/results/. With
`--synthetic`, vectors are drawn in clusters (tests/support/synthetic_vectors.py). It fails where
any recall is below 0.95.
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
from semblance.models.evaluation.statistics.ranking import recall
from semblance.service.filters import Filter, parse_filter
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import Change
from semblance.service.ports.indexes import ENGINES
from tests.support.figures import keep
from tests.support.sentence_vectors import sentence_vectors
from tests.support.synthetic_vectors import clustered
from tests.support.vital_signs import resident_mb
from tests.support.wide_console import wide_console

K = 10
LEAST_RECALL = 0.95
SHARES = (0.001, 0.01, 0.1, 0.2, 0.5, 1.0)
TOPICS = 12
PAGE = 2048
BLOCK = 100_000  # rows that are looked at together: products with all queries take 0.2 GB
MARKS = (0.25, 0.5, 1.0)  # shares of the rows at which the cost of more is taken
PAGES = 8  # before each mark

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of searches. `allowed` is the share of rows that may be returned."""

    engine: str
    rows: int
    filtered_by: str
    half_dead: bool
    allowed: float
    ms_per_query: float
    recall_at_10: float


@dataclass(frozen=True, slots=True)
class Built:
    """One line of the table of costs: milliseconds are those of 1,000 more when a quarter, a half and all are there.

    Times are those of the one core that computes.
    """

    engine: str
    rows: int
    build_s: float
    bytes_per_document: float
    ms_at_a_quarter: float
    ms_at_half: float
    ms_at_the_end: float


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A kind of search: its filter and what is right for each query; the share of all rows that may be returned."""

    filtered_by: str
    half_dead: bool
    allowed: float
    filters: Sequence[Filter | None]
    nearest: Sequence[Mapping[str, float]]


class Rows:
    """Vectors with a number each, at random places that filters go by, half of them to be deleted; and their topics.

    A filter by random places is kind to an index. One by topic is not: all that it allows may lie far from the query.
    """

    def __init__(self, vectors: Floats) -> None:
        rng = np.random.default_rng(0)
        self.vectors = vectors
        self._place = rng.permutation(len(vectors)) / len(vectors)
        self._dead = rng.permutation(len(vectors)) < len(vectors) // 2
        self._centres = faiss.Kmeans(vectors.shape[1], TOPICS, niter=10, seed=0)
        self._centres.train(vectors[:20_000])
        self._topic = self._topics(vectors)
        self._metadata: dict[tuple[int, int], Mapping[str, bool | int]] = {}

    def changes(self) -> Iterator[list[Change]]:
        """All of them, as the store gives them."""
        for start in range(0, len(self.vectors), PAGE):
            numbers = range(start, min(start + PAGE, len(self.vectors)))
            yield [Change(str(i), 1, self.vectors[i], self._labels(i)) for i in numbers]

    def deletions(self) -> list[Change]:
        """Half of them."""
        return [Change(str(i), 2, None, {}) for i in np.flatnonzero(self._dead)]

    def at_random(self, queries: Floats, share: float, half_dead: bool) -> Case:
        """A filter that knows nothing of the vectors."""
        allowed = (self._place < share) & ~(self._dead & half_dead)
        where = None if share == 1 else parse_filter({str(share): True})
        nearest = self._nearest(queries, allowed)
        return Case("nothing" if share == 1 else "chance", half_dead, allowed.mean(), [where] * len(queries), nearest)

    def elsewhere(self, queries: Floats) -> Case:
        """A filter for four topics that the query is not of."""
        own = self._topics(queries)
        nearest: dict[int, Mapping[str, float]] = {}
        filters: dict[int, Filter] = {}
        shares: list[float] = []
        for topic in range(TOPICS):
            others = [(topic + step) % TOPICS for step in (2, 4, 6, 8)]
            asked = np.flatnonzero(own == topic)
            allowed = np.isin(self._topic, others)
            shares += [float(allowed.mean())] * len(asked)
            nearest |= dict(zip(asked.tolist(), self._nearest(queries[asked], allowed), strict=True))
            filters |= dict.fromkeys(asked.tolist(), parse_filter({"topic": {"in": others}}))
        order = range(len(queries))
        return Case("topic", False, fmean(shares), [filters[i] for i in order], [nearest[i] for i in order])

    def _nearest(self, queries: Floats, allowed: Flags) -> list[Mapping[str, float]]:
        """By looking at all that are allowed."""
        rows, products = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
        for start in range(0, len(allowed), BLOCK):
            block = start + np.flatnonzero(allowed[start : start + BLOCK])
            if not len(block):
                continue
            of_block = queries @ self.vectors[block].T
            best = np.argpartition(-of_block, min(K, len(block)) - 1, axis=1)[:, :K]
            rows, products = (
                np.hstack([rows, block[best]]),
                np.hstack([products, np.take_along_axis(of_block, best, 1)]),
            )
        best = np.argsort(-products, axis=1)[:, :K]
        return [dict.fromkeys(map(str, row), 1.0) for row in np.take_along_axis(rows, best, 1)]

    def _topics(self, vectors: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = self._centres.index.search(vectors, 1)[1][:, 0]
        return found

    def _labels(self, number: int) -> Mapping[str, bool | int]:
        """What filters go by; the same object for the same labels, so that memory is that of the index."""
        within = sum(self._place[number] < share for share in SHARES)
        key = (within, int(self._topic[number]))
        if key not in self._metadata:
            self._metadata[key] = {str(share): True for share in SHARES[-within:]} | {"topic": key[1]}
        return self._metadata[key]


def measure(engine: str, rows: Rows, queries: Floats, cases: Sequence[Case]) -> tuple[Built, list[Row]]:
    """All lines of one engine; the cases with all rows alive come first."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(rows.vectors.shape[1], len(rows.vectors)), "epoch", engine)
    built = _build(engine, index, rows)
    lines: list[Row] = []
    for case in cases:
        if case.half_dead and len(index) == len(rows.vectors):
            index.apply(rows.deletions())
        ms, found = _search(index, queries, case.filters)
        quality = fmean(recall(ids, nearest, K) for ids, nearest in zip(found, case.nearest, strict=True))
        lines.append(Row(engine, len(rows.vectors), case.filtered_by, case.half_dead, case.allowed, ms, quality))
    return built, lines


def _build(engine: str, index: CollectionIndex, rows: Rows) -> Built:
    _release_memory()
    before_mb, pages_s = resident_mb(os.getpid()), []
    for page in rows.changes():
        began = time.process_time()
        index.apply(page)
        pages_s.append(time.process_time() - began)
    _release_memory()
    count = len(rows.vectors)
    bytes_per_document = (resident_mb(os.getpid()) - before_mb) * 1024**2 / count

    def ms_at(share: float) -> float:
        end = max(1, int(share * (count // PAGE)))  # of whole pages
        return 1000 * median(pages_s[max(0, end - PAGES) : end]) * 1000 / PAGE

    return Built(engine, count, sum(pages_s), bytes_per_document, *map(ms_at, MARKS))


def _release_memory() -> None:
    """What earlier engines freed would be taken for nothing by this one."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _search(index: CollectionIndex, queries: Floats, filters: Sequence[Filter | None]) -> tuple[float, list[list[str]]]:
    """Milliseconds a query, and the ids found."""
    began = time.perf_counter()
    found = [index.search(query[None], K, where)[1][0] for query, where in zip(queries, filters, strict=True)]
    seconds = time.perf_counter() - began
    return 1000 * seconds / len(queries), [[hit.id for hit in hits] for hits in found]


def _print(built: Sequence[Built], rows: Sequence[Row]) -> None:
    table = Table("engine", "filter", "dead", "allowed", "ms/query", "recall@10", title=f"{rows[0].rows:,} rows")
    for row in rows:
        dead = "half" if row.half_dead else "none"
        figures = (f"{row.allowed:.1%}", f"{row.ms_per_query:.2f}", f"{row.recall_at_10:.4f}")
        table.add_row(row.engine, row.filtered_by, dead, *figures)
    wide_console().print(table)
    costs = Table(
        "engine",
        "build s",
        "bytes/document",
        "at 1/4",
        "at 1/2",
        "at the end",
        title="to build, and ms of a core for 1,000 more",
    )
    for each in built:
        more = (f"{ms:.0f}" for ms in (each.ms_at_a_quarter, each.ms_at_half, each.ms_at_the_end))
        costs.add_row(each.engine, f"{each.build_s:.1f}", f"{each.bytes_per_document:,.0f}", *more)
    wide_console().print(costs)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="how many sentences to index")
    parser.add_argument("--queries", type=int, default=500, help="how many to search")
    parser.add_argument("--synthetic", action="store_true", help="vectors in clusters, in place of sentences")
    engines = [name for name in catalogue.names(ENGINES) if name.startswith("faiss")]  # others are for tests, or GPUs
    parser.add_argument("--engines", nargs="+", default=engines, help="which engines")
    options = parser.parse_args()
    vectors = (clustered if options.synthetic else sentence_vectors)(options.rows + options.queries)
    rows, queries = Rows(vectors[options.queries :]), vectors[: options.queries]
    cases = [rows.at_random(queries, share, half_dead=False) for share in SHARES]
    cases.append(rows.elsewhere(queries))
    cases += [rows.at_random(queries, share, half_dead=True) for share in SHARES]
    measured = [measure(engine, rows, queries, cases) for engine in options.engines]
    built, lines = [each for each, _ in measured], [line for _, lines in measured for line in lines]
    _print(built, lines)
    name = "index_recall_synthetic" if options.synthetic else "index_recall"
    keep(name, [[asdict(line) for line in lines], [asdict(each) for each in built]])
    worst = min(lines, key=lambda line: line.recall_at_10)
    if worst.recall_at_10 < LEAST_RECALL:
        raise SystemExit(f"{worst.engine} has recall@10 {worst.recall_at_10:.4f}, less than {LEAST_RECALL}")


if __name__ == "__main__":
    main()
