"""What does /search cost beside FAISS alone, and beside txtai?

    python -m benchmarks.speed.search --documents 10000 100000

fills a service with vectors of distinct sentences from $SEMBLANCE_DATA/text, for more than 100,000 with vectors
scattered about them, and asks it, over HTTP and one query at a time, for the 10 nearest to sentences that are not among
them, whose vectors it has in its cache. In turn with that, the same FAISS index is searched in this process for the
vectors that the service made of these sentences, and up to 100,000 documents txtai is asked in a process of its own: it
gets the same vectors, and finds those of the queries in a dictionary. The first run encodes the documents, which takes
minutes, and makes an environment for txtai.
"""

from __future__ import annotations

import argparse
import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import faiss
import httpx2
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.txtai_store import running_txtai
from semblance.models.embeddings import Floats
from semblance.service.indexes.engines import faiss_hnsw, faiss_ivf
from tests.support.figures import keep
from tests.support.loaded_store import fill
from tests.support.running_service import Service
from tests.support.sentence_vectors import sentence_vectors, sentences
from tests.support.synthetic_vectors import scattered
from tests.support.vital_signs import Spread, resident_mb, spread
from tests.support.wide_console import wide_console

K = 10
REAL = 100_000  # vectors of sentences; documents beyond lie about them
SPARE = 500  # sentences that are not among the documents: queries
COLLECTION = "search"
MODEL = "minilm"
MOST_BEYOND_MS = 3.0  # at p50
OK = 200
RAW, OURS, TXTAI = "FAISS alone", "semblance", "txtai"

Ask: TypeAlias = Callable[[int], Sequence[int]]  # the numbers of the documents that query i finds


@dataclass(frozen=True, slots=True)
class Row:
    """How long one who is asked took: the median of rounds, and the least and the most that a round came to.

    `beyond` is what it took more than FAISS alone in the same round, and `shared` how much of what FAISS finds it
    finds too.
    """

    documents: int
    asked: str
    p50_ms: float
    p50_range_ms: tuple[float, float]
    p99_ms: float
    p99_range_ms: tuple[float, float]
    p50_beyond_ms: float
    p99_beyond_ms: float
    shared: float


@dataclass(frozen=True, slots=True)
class Held:
    """What the service held, and what it took to answer queries that it had never seen."""

    documents: int
    index: str
    memory_mb: float
    uncached_p50_ms: float


def run(documents: int, queries: int, rounds: int, beside_txtai: bool) -> tuple[list[Row], Held]:
    """All of them on so many documents."""
    asked, texts, vectors = _drawn(documents, queries)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder)
        service = Service(home, models=MODEL)
        index = faiss.read_index(str(fill(service, home, COLLECTION, texts, vectors)))
        service.start()
        stack.callback(service.stop)
        first = _semblance(service.url, asked)
        uncached = [_timed(first, i) for i in range(queries)]
        about = _embedded(service.url, asked)
        # not the connection of before, which the service closes while txtai starts
        peers: dict[str, Ask] = {RAW: _faiss(index, about), OURS: _semblance(service.url, asked)}
        if beside_txtai:
            url = stack.enter_context(running_txtai(home, texts, vectors, asked, about))
            peers[TXTAI] = _txtai(url, asked)
        found = {name: [ask(i) for i in range(queries)] for name, ask in peers.items()}
        times = _rounds(peers, queries, rounds)
        held = Held(
            documents=documents,
            index=type(index).__name__,
            memory_mb=resident_mb(service.process.pid),
            uncached_p50_ms=spread(uncached).p50_ms,
        )
    return [_row(documents, name, times, _shared(found[name], found[RAW])) for name in peers], held


def _drawn(documents: int, queries: int) -> tuple[Sequence[str], Sequence[str], Floats]:
    """Queries, and documents with their vectors."""
    count = min(documents, REAL)
    texts, vectors = sentences(REAL + SPARE), sentence_vectors(REAL + SPARE)
    numbered = [f"{texts[SPARE + i % count]} ({i})" for i in range(documents)]
    return texts[:queries], numbered, scattered(vectors[SPARE : SPARE + count], documents)


def _embedded(url: str, asked: Sequence[str]) -> Floats:
    """(q, d) the vectors that the service compares with documents: those that its cache has since they were asked."""
    request = {"model": MODEL, "input": asked, "encoding_format": "base64", "truncate": "END"}
    answer = httpx2.post(f"{url}/v1/embeddings", json=request, timeout=60).raise_for_status()
    return np.stack([np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in answer.json()["data"]])


def _faiss(index: Any, about: Floats) -> Ask:
    """The index of the service, searched as the service does."""
    faiss.omp_set_num_threads(1)
    match index:
        case faiss.IndexHNSWFlat():
            parameters = faiss.SearchParametersHNSW(efSearch=faiss_hnsw.EF_SEARCH)  # type: ignore[attr-defined]
        case faiss.IndexIVFFlat():
            parameters = faiss.SearchParametersIVF(nprobe=faiss_ivf.PROBES)  # type: ignore[call-arg]
        case _:
            parameters = None
    return lambda i: index.search(about[i : i + 1], K, params=parameters)[1][0].tolist()


def _semblance(url: str, asked: Sequence[str]) -> Ask:
    connection = _connection(url)
    bodies = [json.dumps({"query": text, "collection": COLLECTION, "k": K}).encode() for text in asked]

    def ask(i: int) -> list[int]:
        connection.request("POST", "/search", bodies[i], {"content-type": "application/json"})
        return [int(hit["id"]) for hit in json.loads(_answer(connection))["results"][0]["hits"]]

    return ask


def _txtai(url: str, asked: Sequence[str]) -> Ask:
    connection = _connection(url)

    def ask(i: int) -> list[int]:
        connection.request("GET", f"/search?query={quote(asked[i])}&limit={K}")
        return [int(hit["id"]) for hit in json.loads(_answer(connection))]

    return ask


def _connection(url: str) -> HTTPConnection:
    return HTTPConnection(str(urlsplit(url).hostname), urlsplit(url).port, timeout=60)


def _answer(connection: HTTPConnection) -> bytes:
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != OK:
        raise RuntimeError(f"status {answer.status}: {body[:500]!r}")
    return body


def _timed(ask: Ask, i: int) -> float:
    """Seconds."""
    began = time.perf_counter()
    ask(i)
    return time.perf_counter() - began


def _rounds(peers: Mapping[str, Ask], queries: int, rounds: int) -> dict[str, list[Spread]]:
    """What each round came to: in it, all are asked one query after the other, and none is always the first."""
    came_to: dict[str, list[Spread]] = {name: [] for name in peers}
    for turn in range(rounds):
        seconds: dict[str, list[float]] = {name: [] for name in peers}
        for i in range(queries):
            for name in sorted(peers, reverse=(turn + i) % 2 == 1):
                seconds[name].append(_timed(peers[name], i))
        for name in peers:
            came_to[name].append(spread(seconds[name]))
    return came_to


def _row(documents: int, name: str, times: Mapping[str, Sequence[Spread]], shared: float) -> Row:
    p50s, p99s = [each.p50_ms for each in times[name]], [each.p99_ms for each in times[name]]
    pairs = list(zip(times[name], times[RAW], strict=True))
    return Row(
        documents=documents,
        asked=name,
        p50_ms=median(p50s),
        p50_range_ms=(min(p50s), max(p50s)),
        p99_ms=median(p99s),
        p99_range_ms=(min(p99s), max(p99s)),
        p50_beyond_ms=median(each.p50_ms - alone.p50_ms for each, alone in pairs),
        p99_beyond_ms=median(each.p99_ms - alone.p99_ms for each, alone in pairs),
        shared=shared,
    )


def _shared(found: Sequence[Sequence[int]], by_faiss: Sequence[Sequence[int]]) -> float:
    return fmean(len(set(ours) & set(theirs)) / K for ours, theirs in zip(found, by_faiss, strict=True))


def _show(rows: Sequence[Row], held: Sequence[Held], console: Console) -> None:
    names = ("documents", "asked", "p50 ms", "p99 ms", "p50 beyond FAISS", "p99 beyond FAISS", "finds as FAISS")
    table = Table(*names, title=f"a query of a cached text, {K} hits: median of rounds (least to most)")
    for row in rows:
        table.add_row(
            f"{row.documents:,}",
            row.asked,
            f"{row.p50_ms:.2f} ({row.p50_range_ms[0]:.2f} to {row.p50_range_ms[1]:.2f})",
            f"{row.p99_ms:.2f} ({row.p99_range_ms[0]:.2f} to {row.p99_range_ms[1]:.2f})",
            f"{row.p50_beyond_ms:.2f}",
            f"{row.p99_beyond_ms:.2f}",
            f"{row.shared:.4f}",
        )
    console.print(table)
    for each in held:
        console.print(
            f"{each.documents:,} documents: {each.index}, {each.memory_mb:,.0f} MB; a text that was not cached took "
            f"{each.uncached_p50_ms:.2f} ms (p50)"
        )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, choices=range(1, SPARE + 1), metavar="N", default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-txtai", action="store_true", help="leave txtai out")
    options = parser.parse_args()
    console = wide_console()
    measured = []
    for documents in options.documents:
        console.print(f"{documents:,} documents ...")
        measured.append(run(documents, options.queries, options.rounds, not options.no_txtai and documents <= REAL))
    rows, held = [row for rows, _ in measured for row in rows], [each for _, each in measured]
    _show(rows, held, console)
    keep("search", {"asked": [asdict(row) for row in rows], "held": [asdict(each) for each in held]})
    worst = max(row.p50_beyond_ms for row in rows if row.asked == OURS and row.documents <= REAL)
    if worst > MOST_BEYOND_MS:
        raise SystemExit(f"the service takes {worst:.2f} ms beyond FAISS, more than {MOST_BEYOND_MS}")


if __name__ == "__main__":
    main()
