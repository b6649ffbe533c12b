"""What does a hybrid search cost, compared with one by vectors?

    python -m benchmarks.speed.hybrid

fills a service with documents of two sentences from $SEMBLANCE_DATA/text and synthetic vectors, and searches by four
keywords of a document and by 14 successive words of other sentences, in the modes `vector` and `hybrid`, which take
turns: first the index alone, in this process and without a thread, then whole requests over HTTP with cached queries.
Prints latencies and CPU time (core-milliseconds) of a search, and what hybrid adds. It fails if the median request
takes 4 ms more for keywords, or 12 ms more for 14 words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from semblance.models.embeddings import Floats
from semblance.models.tokenization.terms import query_terms
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.indexes import HybridQuery, VectorIndex
from semblance.service.settings import Settings
from semblance.service.usecases.search.params import DEFAULT_CANDIDATES
from tests.support.prefilled_store import fill_collection
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.sentence_vectors import sentences
from tests.support.service_monitor import percentiles
from tests.support.synthetic_vectors import clustered_vectors
from tests.support.wide_console import wide_console

DOCUMENTS = 100_000
SPARE = 500  # further sentences, for queries
QUERIES = 100  # of each kind
K = 10
KEYWORDS, MIN_LETTERS = 4, 5
WORDS = 14
KINDS = (f"{KEYWORDS} keywords", f"{WORDS} words")
MAX_ADDED_MS = dict(zip(KINDS, (4.0, 12.0), strict=True))  # by hybrid to a request, at p50
MODES = ("vector", "hybrid")
COLLECTION = "hybrid"
MODEL = "minilm"
OK = 200


class System(NamedTuple):
    """Something that searches for a query by number, and the CPU time that it has taken so far."""

    search: Callable[[int], object]
    cpu_s: Callable[[], float]


@dataclass(slots=True)
class Times:
    """Seconds of each search, and CPU time of all."""

    seconds: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """Latency and CPU time of a search in one mode; `added` is what it takes beyond mode vector."""

    searched: str
    queries: str
    mode: str
    p50_ms: float
    p99_ms: float
    core_ms: float
    added_p50_ms: float
    added_p99_ms: float
    added_core_ms: float


def documents(count: int) -> list[str]:
    """Documents of two sentences."""
    texts = sentences(DOCUMENTS + SPARE)[:DOCUMENTS]
    return [f"{texts[i]} {texts[-1 - i]}" for i in range(count)]


def queries(texts: Sequence[str], others: Sequence[str]) -> dict[str, list[str]]:
    """Queries of either kind: words of a text each, and the first words of other sentences."""
    rng = random.Random(0)
    words = [[word for word in text.split() if len(word) >= MIN_LETTERS and word.isalpha()] for text in texts]
    enough = [each for each in words if len(set(each)) >= KEYWORDS]
    keywords = [" ".join(rng.sample(sorted(set(each)), KEYWORDS)) for each in rng.sample(enough, QUERIES)]
    long = [" ".join(text.split()[:WORDS]) for text in others if len(text.split()) >= WORDS]
    return dict(zip(KINDS, (keywords, long[:QUERIES]), strict=True))


def alternated(systems: Mapping[str, System], count: int, rounds: int) -> dict[str, Times]:
    """Time all queries by every system, which take turns; the first round warms up and does not count."""
    times = {name: Times() for name in systems}
    for turn in range(rounds + 1):
        for name in sorted(systems, reverse=turn % 2 == 1):
            cpu_s, seconds = systems[name].cpu_s(), [_seconds(systems[name].search, i) for i in range(count)]
            if turn > 0:
                times[name].seconds += seconds
                times[name].cpu_s += systems[name].cpu_s() - cpu_s
    return times


def _seconds(search: Callable[[int], object], i: int) -> float:
    start_s = time.perf_counter()
    search(i)
    return time.perf_counter() - start_s


def rows(searched: str, kind: str, times: Mapping[str, Times]) -> Iterator[Row]:
    """A row for each mode."""
    own = {name: figures(times[name]) for name in MODES}
    for name, each in own.items():
        added = (figure - base for figure, base in zip(each, own[MODES[0]], strict=True))
        yield Row(searched, kind, name, *each, *added)


def figures(times: Times) -> tuple[float, float, float]:
    """p50 and p99 of the latency, and CPU time of a search, in milliseconds."""
    latency = percentiles(times.seconds)
    return latency.p50_ms, latency.p99_ms, 1000 * times.cpu_s / len(times.seconds)


def of_index(index: VectorIndex, asked: Sequence[str], vectors: Floats) -> dict[str, System]:
    """The index alone, as the service asks it: for the hits, or for candidates by vectors and by terms."""

    def by_vector(i: int) -> object:
        return index.search(vectors[i : i + 1], K, None)

    def hybrid(i: int) -> object:
        return index.search_hybrid(HybridQuery(vectors[i], query_terms(asked[i])), DEFAULT_CANDIDATES, None, 1)

    return {name: System(search, time.process_time) for name, search in zip(MODES, (by_vector, hybrid), strict=True)}


@contextmanager
def of_service(
    service: Service,
    collection: str,
    asked: Sequence[str],
    options: Mapping[str, Mapping[str, object]],
    path: str = "/search",
) -> Iterator[dict[str, System]]:
    """Requests to a service, on one connection; by name, the fields that they have besides the query."""
    address = urlsplit(service.url)
    connection = HTTPConnection(str(address.hostname), address.port, timeout=60)

    def post(fields: Mapping[str, object], i: int) -> bytes:
        body = {"query": asked[i], "collection": collection, "k": K, **fields}
        connection.request("POST", path, json.dumps(body).encode(), {"content-type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != OK:
            raise RuntimeError(f"status {answer.status}: {content[:500]!r}")
        return content

    cpu_s = partial(process_cpu_s, service.process.pid)
    with closing(connection):
        yield {name: System(partial(post, fields), cpu_s) for name, fields in options.items()}


def process_cpu_s(pid: int) -> float:
    """CPU time of a process so far, in ticks of 10 ms as a rule."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    texts: Sequence[str], vectors: Floats, asked: Mapping[str, Sequence[str]], near: Floats, rounds: int
) -> list[Row]:
    """Measure the index and the service.

    Args:
        texts: n documents.
        vectors: (n, d) their unit vectors.
        asked: q queries of each kind.
        near: (q, d) unit vectors with which the index alone is searched; the service encodes the queries.
        rounds: number of times that each query is timed.
    """
    results: list[Row] = []
    with TemporaryDirectory() as folder, threadpool_limits(1):  # as in the service (service/__init__.py)
        service = Service(Path(folder), models=MODEL)
        fill_collection(service, Path(folder), COLLECTION, texts, vectors)
        index = saved_index(Settings(home=Path(folder)))
        for kind, own in asked.items():
            results += rows("index", kind, alternated(of_index(index, own, near), len(own), rounds))
        service.start()
        try:
            for kind, own in asked.items():
                with of_service(service, COLLECTION, own, {mode: {"mode": mode} for mode in MODES}) as systems:
                    results += rows("request", kind, alternated(systems, len(own), rounds))
        finally:
            service.stop()
    return results


def saved_index(settings: Settings) -> VectorIndex:
    """The index that the service has saved."""
    store = SqlDocumentStore(sqlite_engine(settings.database_file))
    collection = store.collection(COLLECTION)
    read = partial(store.vectors, COLLECTION, generation=collection.settings.generation)
    index = IndexFolder(settings.snapshot_folder).load(collection, read)
    store.close()
    assert index is not None
    return index


def show(results: Sequence[Row], count: int, console: Console) -> None:
    """Print a row for each mode."""
    names = ("searched", "query", "mode", "p50 ms", "p99 ms", "core-ms", "added p50", "added p99", "added core-ms")
    table = Table(*names, title=f"searches of {count:,} documents, {K} hits")
    for row in results:
        times = (row.p50_ms, row.p99_ms, row.core_ms)
        added = (row.added_p50_ms, row.added_p99_ms, row.added_core_ms) if row.mode != MODES[0] else ()
        table.add_row(
            *(row.searched, row.queries, row.mode),
            *(f"{each:.2f}" for each in times),
            *(f"{each:+.2f}" for each in added),
        )
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, choices=range(1, DOCUMENTS + 1), metavar="N", default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    vectors, texts = clustered_vectors(options.documents + QUERIES), documents(options.documents)
    asked = queries(texts, sentences(DOCUMENTS + SPARE)[DOCUMENTS:])
    results = measure(texts, vectors[:-QUERIES], asked, vectors[-QUERIES:], options.rounds)
    show(results, options.documents, wide_console())
    save_results("hybrid", [asdict(row) for row in results])
    for row in results:
        if row.searched == "request" and row.added_p50_ms > (most := MAX_ADDED_MS[row.queries]):
            raise SystemExit(f"hybrid adds {row.added_p50_ms:.2f} ms to a search by {row.queries}, more than {most}")


if __name__ == "__main__":
    main()
