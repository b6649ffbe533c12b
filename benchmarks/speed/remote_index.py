"""Is a search on Milvus right, and how fast is its index filled?

    python -m benchmarks.speed.remote_index
    python -m benchmarks.speed.remote_index --documents 100000 --queries 10

stores vectors of distinct sentences from $SEMBLANCE_DATA/text in a PostgreSQL, beside a replica that keeps no copy and
fills a Milvus Lite, and waits until the index has them all. Then it searches over HTTP for other sentences, without and
with filters that pass a share of the documents, and compares the answers with exhaustive search. It prints the rates of
storing and filling, recall@10, the largest difference of a score, milliseconds, and the median seconds from the start
of a further replica to its first answer. It fails if a recall is below 0.99.

Milvus Lite speaks the protocol of Milvus, but is another engine, which evaluates filters row by row: its times say
nothing about Milvus. The variable SEMBLANCE_TEST_MILVUS names another server, HOST:PORT.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TypeAlias

import httpx2
import numpy as np
from rich.progress import track
from rich.table import Table

from semblance.models.embeddings import Floats
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import Document, Version, Write
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.sentence_vectors import sentence_vectors, sentences
from tests.support.servers.milvus_server import MilvusServer, milvus_elsewhere
from tests.support.servers.postgres_server import PostgresServer
from tests.support.service_monitor import percentiles
from tests.support.vectors import one_passage
from tests.support.wide_console import wide_console

K = 10
SHARES = (1.0, 0.5, 0.02, 0.001)
SPARE = 500  # sentences that are no documents
MAX_CHARS = 200  # of a query
PAGE = 2048
COLLECTION = "remote"
MODEL = "minilm"
TIMEOUT_S = "120"  # of a call: Milvus Lite takes seconds
MIN_RECALL = 0.99
STARTS = 5  # of a further replica

Places: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]  # of each document in a random order, from 0 to 1


@dataclass(frozen=True, slots=True)
class Searches:
    """Searches with one filter, beside exhaustive search."""

    allowed: float
    recall_at_10: float
    score_difference: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Replicas:
    """Documents per second that PostgreSQL stored, and that the index then took from it; the start of a replica."""

    documents: int
    stored_per_s: float
    filled_per_s: float
    first_answer_s: float


def run(documents: int, searches: int) -> tuple[Replicas, list[Searches]]:
    """Fill an index, search it with each filter, and start another replica."""
    texts, vectors = sentences(SPARE + documents), sentence_vectors(SPARE + documents)
    places = np.random.default_rng(0).permutation(documents) / documents
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database, milvus = stack.enter_context(_servers(folder / "milvus"))
        service = _replica(folder, database, milvus)
        stack.callback(service.stop)
        http = stack.enter_context(httpx2.Client(base_url=service.start(), timeout=float(TIMEOUT_S)))
        http.put(f"/collections/{COLLECTION}", json={}).raise_for_status()
        began = time.perf_counter()
        version = _store(database, texts[SPARE:], vectors[SPARE:], places)
        stored = time.perf_counter()
        while not _is_at(http, version):
            time.sleep(0.2)
        filled = time.perf_counter()
        queries = [text for text in texts[:SPARE] if len(text) <= MAX_CHARS][:searches]
        query_vectors = _embedded(http, queries)
        rows = [_searches(http, queries, query_vectors, vectors[SPARE:], places, share) for share in SHARES]
        start_s = median(_first_answer_s(folder, database, milvus) for _ in range(STARTS))
        return Replicas(documents, documents / (stored - began), documents / (filled - began), start_s), rows


@contextmanager
def _servers(folder: Path) -> Iterator[tuple[str, str]]:
    """URLs of a PostgreSQL and a Milvus."""
    folder.mkdir()
    postgres, milvus = PostgresServer(), MilvusServer(folder)
    elsewhere = milvus_elsewhere()
    try:
        postgres.start()
        postgres.create_database()
        if elsewhere is None:
            milvus.start()
        yield postgres.url, elsewhere or milvus.url
    finally:
        if elsewhere is None:
            milvus.kill()
        postgres.remove()


def _replica(folder: Path, database: str, milvus: str) -> Service:
    return Service(folder, models=MODEL, database_url=database, index_url=milvus, database_timeout_s=TIMEOUT_S)


def _first_answer_s(folder: Path, database: str, milvus: str) -> float:
    """Seconds from the start of a replica without any files to the hits of its first search."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        replica, began = _replica(Path(home), database, milvus), time.perf_counter()
        try:
            body = {"query": "a sentence", "collection": COLLECTION, "k": 1}
            httpx2.post(f"{replica.start()}/search", json=body, timeout=float(TIMEOUT_S)).raise_for_status()
            return time.perf_counter() - began
        finally:
            replica.stop()


def _store(database: str, texts: Sequence[str], vectors: Floats, places: Places) -> Version:
    """Store all documents, as a replica does; return the version then."""
    store = SqlDocumentStore(postgresql_engine(database, 1, 60))
    try:
        collection = store.collection(COLLECTION)
        for start in track(range(0, len(texts), PAGE), "storing"):
            numbers = range(start, min(start + PAGE, len(texts)))
            writes = [Write(_document(i, texts[i], places[i]), one_passage(vectors[i])) for i in numbers]
            store.upsert(collection, writes)
        return store.collection(COLLECTION).version
    finally:
        store.close()


def _document(number: int, text: str, place: float) -> Document:
    return Document(str(number), text, {str(share): bool(place < share) for share in SHARES})


def _is_at(http: httpx2.Client, version: Version) -> bool:
    """Whether a search finds what a version has."""
    body = {"query": "a sentence", "collection": COLLECTION, "k": 1, "min_version": str(version)}
    return http.post("/search", json=body).is_success


def _embedded(http: httpx2.Client, texts: Sequence[str]) -> Floats:
    """(q, d) vectors of queries."""
    answer = http.post("/v1/embeddings", json={"model": MODEL, "input": texts}).raise_for_status()
    return np.array([each["embedding"] for each in answer.json()["data"]], np.float32)


def _searches(
    http: httpx2.Client, texts: Sequence[str], queries: Floats, vectors: Floats, places: Places, share: float
) -> Searches:
    """Search for each query with a filter that passes a share of the documents."""
    allowed = np.flatnonzero(places < share)
    seconds: list[float] = []
    recalls: list[float] = []
    difference = 0.0
    for text, query in zip(texts, queries, strict=True):
        scores = vectors[allowed] @ query
        best = dict(zip(allowed[np.argsort(-scores)[:K]].tolist(), np.sort(scores)[::-1][:K].tolist(), strict=True))
        body = {"query": text, "collection": COLLECTION, "k": K, "filter": {str(share): True} if share < 1 else None}
        began = time.perf_counter()
        answer = http.post("/search", json=body).raise_for_status()
        seconds.append(time.perf_counter() - began)
        hits = {int(hit["id"]): hit["score"] for hit in answer.json()["results"][0]["hits"]}
        recalls.append(len(hits.keys() & best.keys()) / len(best))
        difference = max([difference, *(abs(hits[i] - float(vectors[i] @ query)) for i in hits)])
    times = percentiles(seconds)
    return Searches(len(allowed) / len(places), fmean(recalls), difference, times.p50_ms, times.p99_ms)


def main() -> None:
    """Print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    replicas, rows = run(options.documents, options.queries)
    console = wide_console()
    server = milvus_elsewhere() or "Milvus Lite"
    table = Table(
        "allowed", "recall@10", "score difference", "p50 ms", "p99 ms", title=f"{replicas.documents:,} in {server}"
    )
    for row in rows:
        cells = f"{row.recall_at_10:.4f}", f"{row.score_difference:.1e}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}"
        table.add_row(f"{row.allowed:.1%}", *cells)
    console.print(table)
    console.print(f"stored {replicas.stored_per_s:,.0f} and filled {replicas.filled_per_s:,.0f} documents a second")
    console.print(f"a further replica answered {replicas.first_answer_s:.2f} s after its start")
    save_results("remote_index", {"replicas": asdict(replicas), "searches": [asdict(row) for row in rows]})
    if (least := min(row.recall_at_10 for row in rows)) < MIN_RECALL:
        raise SystemExit(f"a recall of {least:.4f} is below {MIN_RECALL}")


if __name__ == "__main__":
    main()
