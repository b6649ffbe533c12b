"""What does each index engine find, how fast, and what do filters and deletions cost it?

    python -m benchmarks.index_recall

indexes vectors of distinct sentences from $SEMBLANCE_DATA/text, searches them one query at a time with 500 sentences
that are not among them, and prints build time, milliseconds a query, and recall@10 against an exhaustive search in
NumPy: for filters that let through a share of the documents, and after half of them were deleted. The first run encodes
the sentences, which takes minutes; later ones read the vectors from benchmarks/results/. It fails where any recall is
below 0.95.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TypeAlias

import faiss
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.figures import keep
from benchmarks.sentence_vectors import sentence_vectors
from models import catalogue
from models.embeddings import Floats
from models.evaluation.ranking import recall
from service.filters import Filter, parse_filter
from service.indexes.collection_index import CollectionIndex
from service.ports import ENGINES, Change

K = 10
QUERIES = 500
LEAST_RECALL = 0.95
SHARES = (0.001, 0.01, 0.1, 0.2, 0.5, 1.0)
TOPICS = 12
PAGE = 2048

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `allowed` is the share of rows that may be returned."""

    engine: str
    rows: int
    build_s: float
    filtered_by: str
    half_dead: bool
    allowed: float
    ms_per_query: float
    recall_at_10: float


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

    def changes(self) -> Iterator[list[Change]]:
        """All of them, as the store gives them."""
        for start in range(0, len(self.vectors), PAGE):
            numbers = range(start, min(start + PAGE, len(self.vectors)))
            yield [Change(str(i), 1, self.vectors[i], self._metadata(i)) for i in numbers]

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
        numbers = np.flatnonzero(allowed)
        products = queries @ self.vectors[numbers].T
        nearest = numbers[np.argpartition(-products, K - 1, axis=1)[:, :K]]
        return [dict.fromkeys(map(str, row), 1.0) for row in nearest]

    def _topics(self, vectors: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        found: np.ndarray[tuple[int], np.dtype[np.int64]] = self._centres.index.search(vectors, 1)[1][:, 0]
        return found

    def _metadata(self, number: int) -> dict[str, bool | int]:
        places: dict[str, bool | int] = {str(share): True for share in SHARES if self._place[number] < share}
        return places | {"topic": int(self._topic[number])}


def measure(engine: str, rows: Rows, queries: Floats, cases: Sequence[Case]) -> list[Row]:
    """All lines of one engine; the cases with all rows alive come first."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(rows.vectors.shape[1], len(rows.vectors)), "epoch", engine)
    began = time.perf_counter()
    for page in rows.changes():
        index.apply(page)
    build_s = time.perf_counter() - began
    lines: list[Row] = []
    for case in cases:
        if case.half_dead and len(index) == len(rows.vectors):
            index.apply(rows.deletions())
        ms, found = _search(index, queries, case.filters)
        quality = fmean(recall(ids, nearest, K) for ids, nearest in zip(found, case.nearest, strict=True))
        lines.append(
            Row(engine, len(rows.vectors), build_s, case.filtered_by, case.half_dead, case.allowed, ms, quality)
        )
    return lines


def _search(index: CollectionIndex, queries: Floats, filters: Sequence[Filter | None]) -> tuple[float, list[list[str]]]:
    """Milliseconds a query, and the ids found."""
    began = time.perf_counter()
    found = [index.search(query[None], K, where)[1][0] for query, where in zip(queries, filters, strict=True)]
    seconds = time.perf_counter() - began
    return 1000 * seconds / len(queries), [[hit.id for hit in hits] for hits in found]


def _print(rows: Sequence[Row]) -> None:
    table = Table(
        "engine", "build s", "filter", "dead", "allowed", "ms/query", "recall@10", title=f"{rows[0].rows:,} rows"
    )
    for row in rows:
        table.add_row(
            row.engine,
            f"{row.build_s:.1f}",
            row.filtered_by,
            "half" if row.half_dead else "none",
            f"{row.allowed:.1%}",
            f"{row.ms_per_query:.2f}",
            f"{row.recall_at_10:.4f}",
        )
    Console().print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="how many sentences to index")
    engines = [name for name in catalogue.names(ENGINES) if name != "exact"]  # which is for tests, and takes long
    parser.add_argument("--engines", nargs="+", default=engines, help="which engines")
    arguments = parser.parse_args()
    vectors = sentence_vectors(arguments.rows + QUERIES)
    rows, queries = Rows(vectors[QUERIES:]), vectors[:QUERIES]
    cases = [rows.at_random(queries, share, half_dead=False) for share in SHARES]
    cases.append(rows.elsewhere(queries))
    cases += [rows.at_random(queries, share, half_dead=True) for share in SHARES]
    lines = [line for engine in arguments.engines for line in measure(engine, rows, queries, cases)]
    _print(lines)
    keep("index_recall", [asdict(line) for line in lines])
    worst = min(lines, key=lambda line: line.recall_at_10)
    if worst.recall_at_10 < LEAST_RECALL:
        raise SystemExit(f"{worst.engine} has recall@10 {worst.recall_at_10:.4f}, less than {LEAST_RECALL}")


if __name__ == "__main__":
    main()
