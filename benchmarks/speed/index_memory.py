"""How much memory and disk does an index take, and how well and fast does it find?

    python -m benchmarks.speed.index_memory --rows 300000
    python -m benchmarks.speed.index_memory --rows 1000000 --engines faiss_ivf faiss_ivf_sq8
    python -m benchmarks.speed.index_memory --rows 10000000 --synthetic

indexes sentences of $SEMBLANCE_DATA/text with their vectors, ids, terms and metadata, and saves a snapshot. A new
process loads it, and its memory is measured after the searches, that of mapped files apart. It prints the seconds of
the load; milliseconds of searches for one query on all cores, without and with filters that pass 50, 2 and 0.1 % of the
documents; and recall@10 relative to exhaustive search. Beyond 300,000, sentences repeat and their vectors are noisy
copies; with `--synthetic`, vectors are random clusters. Vectors in the store are read from a file: what a database adds
is measured by `speed.search`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.models.processor.usable_cores import usable_cores
from semblance.service.filters import parse_filter
from semblance.service.indexes import snapshots
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.nearest import rescored_rows
from semblance.service.ports.device import Device
from semblance.service.ports.documents import Collection, CollectionSettings, VectorChange, Version
from semblance.service.ports.indexes import ENGINES
from tests.support.results import save_results
from tests.support.sentence_vectors import sentence_vectors, sentences
from tests.support.service_monitor import percentiles
from tests.support.synthetic_vectors import DIM, clustered_vectors, perturbed_vectors
from tests.support.wide_console import wide_console

K = 10
REAL = 300_000  # vectors of sentences
QUERIES = 500
FILTERS: Mapping[str, int] = {"none": 1, "50 %": 2, "2 %": 50, "0.1 %": 1000}  # one document in how many passes
BLOCK = 100_000  # vectors generated, or compared with all queries, at a time
PAGE = 2048
VECTORS, NEAREST = "vectors.f32", "nearest.json"
EPOCH = "epoch"


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Searches with one filter."""

    filtered: str
    p50_ms: float
    p99_ms: float
    recall_at_10: float


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """An index that was loaded from a snapshot; bytes are a document's.

    `built_own_gb` is the memory of the process that built it, and `mapped_bytes` are pages of mapped files that were
    read: the system takes them back when it needs memory.
    """

    engine: str
    rows: int
    rescored: int
    build_s: float
    built_own_gb: float
    disk_bytes: float
    load_s: float
    own_bytes: float
    mapped_bytes: float
    searches: Sequence[SearchFigures]


class StoredVectors:
    """Vectors in a file, of the queries first, and the right hits of these by filter and query."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / VECTORS).open("rb")
        shape = (folder / VECTORS).stat().st_size // (4 * DIM), DIM
        all_vectors = np.memmap(folder / VECTORS, np.float32, "r", shape=shape)
        self.queries: Floats = np.array(all_vectors[:QUERIES])
        self.documents: Floats = all_vectors[QUERIES:]
        self.nearest: dict[str, list[list[int]]] = json.loads((folder / NEAREST).read_text())

    def read(self, ids: Sequence[str]) -> Mapping[str, Floats]:
        """Read the vectors of documents, without the mapping, whose pages would count as memory."""
        return {doc_id: self._vector(int(doc_id)) for doc_id in ids}

    def _vector(self, number: int) -> Floats:
        content = os.pread(self._file.fileno(), 4 * DIM, 4 * DIM * (QUERIES + number))
        return np.frombuffer(content, np.float32).reshape(1, DIM)


def store_vectors(folder: Path, rows: int, synthetic: bool) -> None:
    """Write vectors of queries and documents, and the right hits by exhaustive search."""
    vectors: Floats = np.memmap(folder / VECTORS, np.float32, "w+", shape=(QUERIES + rows, DIM))
    if synthetic:
        clustered_vectors(len(vectors), out=vectors)
    else:
        real = sentence_vectors(QUERIES + REAL)
        vectors[: len(real)] = real[: len(vectors)]
        for start in range(len(real), len(vectors), REAL):
            noisy = perturbed_vectors(real[QUERIES:], 2 * REAL, seed=start)[REAL:]
            vectors[start : start + REAL] = noisy[: len(vectors) - start]
    nearest = {name: _nearest(vectors[:QUERIES], vectors[QUERIES:], one_in) for name, one_in in FILTERS.items()}
    (folder / NEAREST).write_text(json.dumps(nearest))


def _nearest(queries: Floats, documents: Floats, one_in: int) -> list[list[int]]:
    """The nearest of each `one_in`-th document by exhaustive search."""
    numbers, scores = np.empty((QUERIES, 0), np.int64), np.empty((QUERIES, 0), np.float32)
    for start in track(range(0, len(documents), BLOCK), f"exhaustive search of 1 in {one_in}"):
        block = np.arange(start + -start % one_in, min(start + BLOCK, len(documents)), one_in)
        products = queries @ documents[block].T
        best = np.argpartition(-products, min(K, len(block)) - 1, axis=1)[:, :K]
        numbers = np.hstack([numbers, block[best]])
        scores = np.hstack([scores, np.take_along_axis(products, best, 1)])
    best = np.argsort(-scores, axis=1)[:, :K]
    found: list[list[int]] = np.take_along_axis(numbers, best, 1).tolist()
    return found


def settings(engine: str) -> CollectionSettings:
    """Settings of the collection."""
    return CollectionSettings("minilm", "space", DIM, "cosine", engine, "none")


def build(engine: str, folder: Path) -> Mapping[str, Any]:
    """Build an index of all documents, and save its snapshot."""
    stored = StoredVectors(folder)
    rows = len(stored.documents)
    index = CollectionIndex(catalogue.find(ENGINES, engine)(DIM, rows), EPOCH, engine, stored.read)
    start = time.monotonic()
    for page in track(_changes(stored.documents), "indexing", total=-(-rows // PAGE)):
        index.apply(page)
    build_s, built_own_gb = time.monotonic() - start, _memory()["RssAnon"] / 1e9
    index.advance(Version(EPOCH, 1))
    snapshots.save(folder / engine, index, settings(engine))
    disk = sum(file.stat().st_size for file in (folder / engine).iterdir())
    return {"rows": rows, "build_s": build_s, "built_own_gb": built_own_gb, "disk_bytes": disk / rows}


def _changes(documents: Floats) -> Iterator[list[VectorChange]]:
    texts = sentences(min(len(documents), REAL))
    fields = {one_in: _field(one_in) for one_in in FILTERS.values()}
    for start in range(0, len(documents), PAGE):
        vectors = np.array(documents[start : start + PAGE])
        yield [
            VectorChange(
                str(i),
                1,
                vectors[i - start : i - start + 1],
                {field: True for one_in, field in fields.items() if i % one_in == 0},
                [texts[i % len(texts)]],
            )
            for i in range(start, start + len(vectors))
        ]


def _field(one_in: int) -> str:
    return f"one_in_{one_in}"


def measure(engine: str, folder: Path) -> Mapping[str, Any]:
    """Load the snapshot, and search."""
    stored = StoredVectors(folder)
    rows = len(stored.documents)
    before, start = _memory(), time.monotonic()
    collection, device = Collection("c", Version(EPOCH, 1), settings(engine)), Device(cores=usable_cores())
    index = snapshots.load(folder / engine, collection, stored.read, device)
    load_s = time.monotonic() - start
    assert index is not None
    searches = [_search(index, stored, name) for name in FILTERS]
    after = _memory()
    return {
        "load_s": load_s,
        "own_bytes": (after["RssAnon"] - before["RssAnon"]) / rows,
        "mapped_bytes": (after["RssFile"] - before["RssFile"]) / rows,
        "searches": [asdict(each) for each in searches],
    }


def _search(index: CollectionIndex, stored: StoredVectors, name: str) -> SearchFigures:
    where = None if FILTERS[name] == 1 else parse_filter({_field(FILTERS[name]): True})
    seconds, shared = [], 0
    for query, right in zip(stored.queries, stored.nearest[name], strict=True):
        start = time.perf_counter()
        hits = index.search(query[None], K, where)[1][0]
        seconds.append(time.perf_counter() - start)
        shared += len({int(hit.id) for hit in hits} & set(right))
    times = percentiles(seconds)
    return SearchFigures(name, times.p50_ms, times.p99_ms, shared / K / QUERIES)


def _memory() -> Mapping[str, int]:
    """Resident bytes of this process, by kind."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss")}


def _in_process(act: str, engine: str, folder: Path) -> Mapping[str, Any]:
    """Run an act in a new process, whose memory is then only its own."""
    command = [sys.executable, "-m", __spec__.name, "--engines", engine, "--folder", str(folder), "--only", act]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def show(figures: Sequence[IndexFigures], console: Console) -> None:
    """Print a table of sizes, and one of searches."""
    sizes = Table("engine", "documents", "build s", "own GB", "disk B", "load s", "own B", "mapped B", "total B")
    searches = Table("engine", "documents", "rescored", "filter passes", "p50 ms", "p99 ms", "recall@10")
    for each in figures:
        total = each.own_bytes + each.mapped_bytes
        bytes_each = (f"{count:,.0f}" for count in (each.own_bytes, each.mapped_bytes, total))
        built = (f"{each.build_s:,.0f}", f"{each.built_own_gb:.2f}", f"{each.disk_bytes:,.0f}", f"{each.load_s:.1f}")
        sizes.add_row(each.engine, f"{each.rows:,}", *built, *bytes_each)
        for search in each.searches:
            times = (f"{search.p50_ms:.2f}", f"{search.p99_ms:.2f}")
            row = (each.engine, f"{each.rows:,}", str(each.rescored), search.filtered, *times)
            searches.add_row(*row, f"{search.recall_at_10:.4f}")
    console.print(sizes, searches)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=REAL, help="number of documents")
    parser.add_argument("--synthetic", action="store_true", help="clustered random vectors instead of sentences")
    parser.add_argument("--engines", nargs="+", default=["faiss_ivf", "faiss_ivf_sq8"], help="engines to measure")
    parser.add_argument("--folder", type=Path, help="folder for the files, 2.5 kB a document")
    parser.add_argument("--only", choices=["build", "measure"], help=argparse.SUPPRESS)  # in its own process
    options = parser.parse_args(arguments)
    if options.only:
        act = build if options.only == "build" else measure
        print(json.dumps(act(options.engines[0], options.folder)))
        return
    with TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        store_vectors(folder, options.rows, options.synthetic)
        figures = []
        for engine in options.engines:
            rescored = rescored_rows(K) if catalogue.find(ENGINES, engine).rounds else K
            measured = {**_in_process("build", engine, folder), **_in_process("measure", engine, folder)}
            searches = [SearchFigures(**each) for each in measured.pop("searches")]
            figures.append(IndexFigures(engine=engine, rescored=rescored, searches=searches, **measured))
            shutil.rmtree(folder / engine)
    show(figures, wide_console())
    held = [{name: value for name, value in asdict(each).items() if name != "searches"} for each in figures]
    found = [{"engine": each.engine, **asdict(search)} for each in figures for search in each.searches]
    save_results("index_memory", {"held": held, "searches": found})


if __name__ == "__main__":
    main()
