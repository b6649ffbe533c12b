"""How long does a search take that scores its candidates anew by their tokens, and how fast is a matrix of scores?

    python -m benchmarks.speed.rescoring

stores documents of random token vectors in an embedded store, through the same use cases as the service, with token
codes; searches them with queries that the cache knows, by `rcmd` and by `cosine` in turn, and prints the median and the
99th percentile of either: what lies between them is the rescoring. Then it compares texts that the cache knows, as a
matrix and as pairs, and prints how many pairs a second that makes, beside one `score` after another. It fails where the
median search by `rcmd` of 100 candidates of 200 tokens takes more than 25 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

from semblance.models.catalogue import similarity
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document
from semblance.service.replication.local_node import LocalCollections
from semblance.service.usecases.collections import Collections, NewCollection
from semblance.service.usecases.compare import Compare, Comparison
from semblance.service.usecases.embed_documents import DocumentEmbedder
from semblance.service.usecases.embed_texts import Given, TextEmbedder
from semblance.service.usecases.index_documents import IndexDocuments
from semblance.service.usecases.search import Search, SearchFor
from tests.support.drawn_encoder import DrawnEncoder
from tests.support.figures import keep
from tests.support.wide_console import wide_console

DIM = 384  # of the built-in model
QUERIES, QUERY_TOKENS = 8, 20
DOCUMENTS, DOCUMENT_TOKENS = 400, (50, 200)
CANDIDATES = (50, 100, 200)
MOST_P50_MS, BOUNDED = 25.0, (100, 200)  # a search of so many candidates, of so many tokens each
MATRIX, TEXT_TOKENS = 32, (8, 20, 50, 200)
WORDS = 5000
MANY = 10**9  # a limit that is out of the way


@dataclass(frozen=True, slots=True)
class Rescored:
    """Milliseconds of a search: by `rcmd`, and by `cosine`, which has nothing to score anew."""

    candidates: int
    tokens: int
    p50_ms: float
    p99_ms: float
    cosine_p50_ms: float
    cosine_p99_ms: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Pairs a second of texts of so many tokens by `rcmd`: as a matrix, as pairs, and one `score` after another."""

    tokens: int
    matrix_per_s: float
    pairs_per_s: float
    score_per_s: float


class Parts:
    """The use cases over an embedded store; they also are the models that they serve: the one whose words are drawn."""

    def __init__(self, folder: Path, worker: Worker, metrics: Metrics) -> None:
        self.encoder = DrawnEncoder("drawn", "drawn", DIM)
        self.local = LocalCollections(SqlDocumentStore(sqlite_engine(folder / "d.sqlite")), IndexFolder(folder / "i"))
        self.texts = TextEmbedder(worker, MemoryCache(1 << 30), metrics, MANY)
        self.collections = Collections(self, self.local)
        self.index = IndexDocuments(self.collections, self.local, DocumentEmbedder(self.texts))
        self.search = Search(self.collections, self.local, self.texts, MANY)
        self.compare = Compare(self, self.texts)

    async def get(self, name: str | None) -> DrawnEncoder:
        """The model of any name."""
        del name
        return self.encoder


@asynccontextmanager
async def running() -> AsyncIterator[Parts]:
    """The use cases, for the time of the block."""
    metrics = Metrics()
    worker = Worker(Limits(4096, MANY, MANY), metrics, idle_check_s=MANY)
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(Path(folder), worker, metrics)
        try:
            yield parts
        finally:
            await asyncio.to_thread(parts.local.close)
            await asyncio.to_thread(worker.stop)


def texts(seed: int, count: int, tokens: int) -> list[str]:
    """Texts of so many random words, each a token."""
    words = np.random.default_rng(seed).integers(WORDS, size=(count, tokens))
    return [" ".join(f"w{word}" for word in row) for row in words]


async def fill(parts: Parts, name: str, tokens: int) -> None:
    """A collection of documents with token codes."""
    await parts.collections.create(name, NewCollection(index="exact", tokens="int8"))
    documents = [Document(f"d{i}", text, {}) for i, text in enumerate(texts(tokens, DOCUMENTS, tokens))]
    for start in track(range(0, DOCUMENTS, 20), f"storing documents of {tokens} tokens", transient=True):
        await parts.index(name, documents[start : start + 20])


async def rescored(parts: Parts, tokens: int, candidates: int, searches: int) -> Rescored:
    """Both measures in turn, so that neither has the quieter time."""
    queries = texts(0, QUERIES, QUERY_TOKENS)
    times: Mapping[str, list[float]] = {"rcmd": [], "cosine": []}
    for i in range(searches + QUERIES):
        for measure, taken in times.items():
            given = [Given(queries[i % QUERIES], "/query")]
            request = SearchFor(given, f"of-{tokens}", k=10, candidates=candidates, measure=measure)
            began = time.perf_counter()
            await parts.search(request)
            taken.append(1000 * (time.perf_counter() - began))
    p50, p99, cosine_p50, cosine_p99 = (  # the first round fills the cache
        float(np.percentile(times[measure][QUERIES:], share)) for measure in ("rcmd", "cosine") for share in (50, 99)
    )
    return Rescored(candidates, tokens, p50, p99, cosine_p50, cosine_p99)


async def compared(parts: Parts, tokens: int, rounds: int) -> Compared:
    """All three in turn, and the median of each."""
    left, right = ([Given(text, "") for text in texts(side, MATRIX, tokens)] for side in (1, 2))
    rows, columns = [each for each in left for _ in right], [each for _ in left for each in right]
    known = (await parts.texts.embed(parts.encoder, [*left, *right], "query", "tokens")).embeddings
    rcmd, with_ = similarity("rcmd"), Comparison("rcmd", None, "END")
    taken: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        began = time.perf_counter()
        await parts.compare.matrix(left, right, with_)
        matrix = time.perf_counter()
        await parts.compare.pairs(rows, columns, with_, explain=False)
        pairs = time.perf_counter()
        for a in known[:MATRIX]:
            for b in known[MATRIX:]:
                rcmd.score(a, b)
        taken.append((matrix - began, pairs - matrix, time.perf_counter() - pairs))
    return Compared(tokens, *(MATRIX * MATRIX / median(each) for each in zip(*taken, strict=True)))


def show(searches: Sequence[Rescored], matrices: Sequence[Compared], console: Console) -> None:
    """Both tables."""
    title = f"ms a search, {QUERY_TOKENS} tokens of {DIM} numbers a query"
    grid = Table("candidates", "tokens each", "rcmd p50", "p99", "cosine p50", "p99", title=title)
    for row in searches:
        figures = (row.p50_ms, row.p99_ms, row.cosine_p50_ms, row.cosine_p99_ms)
        grid.add_row(str(row.candidates), str(row.tokens), *(f"{figure:.1f}" for figure in figures))
    console.print(grid)
    rates = Table("tokens each", "matrix", "pairs", "one by one", title=f"pairs a second, {MATRIX} by {MATRIX} texts")
    for line in matrices:
        figures_of = (line.matrix_per_s, line.pairs_per_s, line.score_per_s)
        rates.add_row(str(line.tokens), *(f"{figure:,.0f}" for figure in figures_of))
    console.print(rates)


async def measured(searches: int, rounds: int) -> tuple[list[Rescored], list[Compared]]:
    """All rows of both tables."""
    async with running() as parts:
        for tokens in DOCUMENT_TOKENS:
            await fill(parts, f"of-{tokens}", tokens)
        found = [await rescored(parts, *case, searches) for case in track(list(_cases()), "searching", transient=True)]
        rates = [await compared(parts, tokens, rounds) for tokens in track(TEXT_TOKENS, "comparing", transient=True)]
        return found, rates


def _cases() -> Iterator[tuple[int, int]]:
    return ((tokens, candidates) for tokens in DOCUMENT_TOKENS for candidates in CANDIDATES)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=200, help="how often each search is done by each measure")
    parser.add_argument("--rounds", type=int, default=5, help="how often each matrix is computed")
    given = parser.parse_args()
    with threadpool_limits(1):  # as a service has it (service/__init__.py)
        searches, matrices = asyncio.run(measured(given.searches, given.rounds))
    show(searches, matrices, wide_console())
    keep("rescoring", {"searches": [asdict(row) for row in searches], "compared": [asdict(row) for row in matrices]})
    [bounded] = [row for row in searches if (row.candidates, row.tokens) == BOUNDED]
    if bounded.p50_ms > MOST_P50_MS:
        raise SystemExit(
            f"{BOUNDED[0]} candidates of {BOUNDED[1]} tokens take {bounded.p50_ms:.1f} ms, more than {MOST_P50_MS}"
        )


if __name__ == "__main__":
    main()
