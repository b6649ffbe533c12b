"""What does each index engine find, how fast, and what do filters and deletions cost it?

    python -m benchmarks.index_recall

indexes vectors of distinct sentences from $SEMBLANCE_DATA/text, searches them one query at a time with 500 sentences
that are not among them, and prints build time, milliseconds a query, and recall@10 against an exhaustive search in
NumPy: for filters that let through a share of the documents, and after half of them were deleted. The first run encodes
the sentences, which takes minutes; later ones read the vectors from benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.sentence_vectors import RESULTS, sentence_vectors
from models import catalogue
from models.embeddings import Floats
from models.evaluation.ranking import recall
from service.filters import Filter, parse_filter
from service.indexes.choice import ENGINES
from service.indexes.collection_index import CollectionIndex
from service.ports import Change

K = 10
QUERIES = 500
SHARES = (0.001, 0.01, 0.1, 0.2, 0.5, 1.0)
PAGE = 2048


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `allowed` is the share of rows that may be returned."""

    engine: str
    rows: int
    build_s: float
    half_dead: bool
    allowed: float
    ms_per_query: float
    recall_at_10: float


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A search: which share of rows its filter lets through, whether half of all are dead, and what is right."""

    share: float
    half_dead: bool
    allowed: float
    nearest: Sequence[Mapping[str, float]]


class Rows:
    """Vectors with a number each, half of them to be deleted, and at random places that filters go by."""

    def __init__(self, vectors: Floats) -> None:
        rng = np.random.default_rng(0)
        self.vectors = vectors
        self._place = rng.permutation(len(vectors)) / len(vectors)
        self._dead = rng.permutation(len(vectors)) < len(vectors) // 2

    def changes(self) -> Iterator[list[Change]]:
        """All of them, as the store gives them."""
        for start in range(0, len(self.vectors), PAGE):
            numbers = range(start, min(start + PAGE, len(self.vectors)))
            yield [Change(str(i), 1, self.vectors[i], self._metadata(i)) for i in numbers]

    def deletions(self) -> list[Change]:
        """Half of them."""
        return [Change(str(i), 2, None, {}) for i in np.flatnonzero(self._dead)]

    def case(self, queries: Floats, share: float, half_dead: bool) -> Case:
        """The nearest of each query, by looking at all that are allowed."""
        allowed = (self._place < share) & ~(self._dead & half_dead)
        numbers = np.flatnonzero(allowed)
        products = queries @ self.vectors[numbers].T
        nearest = numbers[np.argpartition(-products, K - 1, axis=1)[:, :K]]
        return Case(share, half_dead, float(allowed.mean()), [dict.fromkeys(map(str, row), 1.0) for row in nearest])

    def _metadata(self, number: int) -> dict[str, bool]:
        return {str(share): True for share in SHARES if self._place[number] < share}


def measure(engine: str, rows: Rows, queries: Floats, cases: Sequence[Case]) -> list[Row]:
    """All lines of one engine; the cases with all rows alive come first."""
    index = CollectionIndex(catalogue.find(ENGINES, engine)(rows.vectors.shape[1]), "epoch", engine)
    began = time.perf_counter()
    for page in rows.changes():
        index.apply(page)
    build_s = time.perf_counter() - began
    lines: list[Row] = []
    for case in cases:
        if case.half_dead and len(index) == len(rows.vectors):
            index.apply(rows.deletions())
        where = None if case.share == 1 else parse_filter({str(case.share): True})
        ms, found = _search(index, queries, where)
        quality = fmean(recall(ids, nearest, K) for ids, nearest in zip(found, case.nearest, strict=True))
        lines.append(Row(engine, len(rows.vectors), build_s, case.half_dead, case.allowed, ms, quality))
    return lines


def _search(index: CollectionIndex, queries: Floats, where: Filter | None) -> tuple[float, list[list[str]]]:
    """Milliseconds a query, and the ids found."""
    began = time.perf_counter()
    found = [index.search(query[None], K, where)[1][0] for query in queries]
    seconds = time.perf_counter() - began
    return 1000 * seconds / len(queries), [[hit.id for hit in hits] for hits in found]


def _print(rows: Sequence[Row]) -> None:
    table = Table("engine", "rows", "build s", "dead", "allowed", "ms a query", "recall@10", title="Index engines")
    for row in rows:
        table.add_row(
            row.engine,
            f"{row.rows:,}",
            f"{row.build_s:.1f}",
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
    parser.add_argument("--engines", nargs="+", default=catalogue.names(ENGINES), help="which engines")
    arguments = parser.parse_args()
    vectors = sentence_vectors(arguments.rows + QUERIES)
    rows, queries = Rows(vectors[QUERIES:]), vectors[:QUERIES]
    cases = [rows.case(queries, share, half_dead=False) for share in SHARES]
    cases += [rows.case(queries, share, half_dead=True) for share in SHARES]
    lines = [line for engine in arguments.engines for line in measure(engine, rows, queries, cases)]
    _print(lines)
    (RESULTS / "index_recall.json").write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
