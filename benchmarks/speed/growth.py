"""How do the costs of encoding, indexing and search grow with lengths and sizes?

    python -m benchmarks.speed.growth

encodes texts of 8 to 512 tokens, in batches of about the same number of tokens; stores documents in a collection of a
service by NDJSON, with an encoder of words that costs next to nothing; adds synthetic vectors to an index of every
engine, and searches it each time its size has doubled, one query at a time. It prints the cost per token, document and
search, and the exponent e of the curve `cost = c * size^e` with the best fit (least squares of logarithms): 0 is a flat
cost, 1 one that doubles with the size. An engine that is trained on its rows does so once, when half of them are there,
and the training counts as adding: the exponent of adding to `faiss_ivf` is mostly due to that step.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.speed.measures import random_texts
from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.models.encoders.transformer import Transformer
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import RUNTIMES, Compute
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.nearest import SCANNED_ROWS
from semblance.service.model_loading.registry import read_source
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import ENGINES
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.servers.word_models import sentence, write_model
from tests.support.synthetic_vectors import DIM, clustered_vectors
from tests.support.wide_console import wide_console

TOKENS = (8, 16, 32, 64, 128, 256, 512)
BATCH_TOKENS = 1024  # in a batch, or one text
REPEATS = 4  # of a batch in a round; the median counts
SMALLEST = 1024  # documents
PAGE = 256  # documents added at a time, as by POST /collections/{name}/documents
QUERIES = 200
K = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a unit of work at one size, in tokens of a text or documents of a collection."""

    work: str
    size: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Fitted exponent of a cost, over the measured sizes."""

    work: str
    per: str
    smallest: int
    largest: int
    exponent: float


def encoding(runtime: str, rounds: int) -> list[Cost]:
    """Cost per token by length of the text; lengths alternate."""
    checkpoint = replace(read_checkpoint(read_source("minilm").location), max_tokens=max(TOKENS))
    precision = catalogue.find(RUNTIMES, runtime).fastest_precision("cpu")
    encoder = Transformer("minilm", checkpoint, Compute("cpu", precision, runtime))
    texts = {n: encoder.tokenize(random_texts(encoder, n, max(1, BATCH_TOKENS // n)), "query", "END") for n in TOKENS}
    costs: dict[int, list[float]] = {n: [] for n in TOKENS}
    for number in track(range(rounds), "encoding"):
        for n in TOKENS if number % 2 == 0 else reversed(TOKENS):
            seconds = [_seconds(partial(encoder.encode, texts[n], "pooled")) for _ in range(REPEATS)]
            costs[n].append(median(seconds) / n / len(texts[n]))
    return [Cost("encoding", n, 1e6 * median(each)) for n, each in costs.items()]


def storing(documents: int) -> Iterator[Cost]:
    """Cost per document that a service stores, by size of the collection."""
    rng = random.Random(0)
    with TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "words.npz", seed=0)
        with running_service(models=f"words={model}", cache="none") as url, Client(url) as client:
            client.create_collection("growth")
            for before, size in track(list(pairwise(_sizes(documents))), "storing"):
                entries = [{"id": str(number), "text": sentence(rng)} for number in range(before, size)]
                lines = [json.dumps(entry).encode() + b"\n" for entry in entries]
                seconds = _seconds(partial(client.upload, lines, "growth"))
                yield Cost("storing", size, 1e6 * seconds / len(lines))


def collections(vectors: Floats, queries: Floats) -> Iterator[Cost]:
    """Costs of adding a document and of a search, by engine and size."""
    for engine in catalogue.names(ENGINES):
        engine_index = catalogue.find(ENGINES, engine)(DIM, len(vectors))
        index = CollectionIndex(engine_index, "epoch", engine)
        for before, size in track(list(pairwise(_sizes(len(vectors)))), engine):
            pages = [vectors[start : start + PAGE] for start in range(before, size, PAGE)]
            changes = [_changes(page, before + PAGE * number) for number, page in enumerate(pages)]
            seconds = sum(_seconds(partial(index.apply, each)) for each in changes)
            yield Cost(f"adding to {engine}", size, 1e6 * seconds / (size - before))
            if engine_index.exact or size > SCANNED_ROWS:  # smaller indexes are scanned, whatever the engine
                searches = [_seconds(partial(index.search, query[None], K, None)) for query in queries]
                yield Cost(f"searching {engine}", size, 1e6 * median(searches))


def curves(costs: Sequence[Cost]) -> list[Curve]:
    """Fit a curve to each kind of work that was measured at several sizes.

    >>> [curve] = curves([Cost("searching exact", size, 3.0 * size) for size in (1, 10, 100)])
    >>> round(curve.exponent, 6)
    1.0
    """
    units = {"encoding": "token", "storing": "document", "adding": "document", "searching": "search"}
    fitted = []
    for work in dict.fromkeys(cost.work for cost in costs):
        points = [cost for cost in costs if cost.work == work]
        sizes = [cost.size for cost in points]
        if len(sizes) < 2:
            continue
        exponent = float(np.polyfit(np.log(sizes), np.log([cost.microseconds for cost in points]), 1)[0])
        fitted.append(Curve(work, units[work.partition(" ")[0]], min(sizes), max(sizes), exponent))
    return fitted


def _sizes(largest: int) -> list[int]:
    """0, followed by doubling sizes."""
    return [0, *(SMALLEST * 2**i for i in range((largest // SMALLEST).bit_length()))]


def _changes(page: Floats, first: int) -> list[VectorChange]:
    return [VectorChange(str(first + i), 1, vector[None], {}) for i, vector in enumerate(page)]


def _seconds(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def show(costs: Sequence[Cost], fitted: Sequence[Curve], console: Console) -> None:
    """Print a table for each unit, with a column for each kind of work and a row for each size."""
    cells = {(cost.work, cost.size): f"{cost.microseconds:,.0f}" for cost in costs}
    for unit in dict.fromkeys(curve.per for curve in fitted):
        works = [curve.work for curve in fitted if curve.per == unit]
        table = Table("size", *works, title=f"microseconds per {unit}")
        for size in sorted({size for work, size in cells if work in works}):
            table.add_row(f"{size:,}", *(cells.get((work, size), "") for work in works))
        table.add_row("exponent", *(f"{curve.exponent:+.2f}" for curve in fitted if curve.per == unit))
        console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=128 * SMALLEST, help="largest size of a collection")
    parser.add_argument("--runtime", choices=catalogue.names(RUNTIMES), default="openvino", help="runtime of the model")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of encoding")
    parser.add_argument("--quick", action="store_true", help="small sizes; saves no figures")
    options = parser.parse_args(arguments)
    documents, rounds = (4 * SMALLEST, 1) if options.quick else (options.documents, options.rounds)
    costs = encoding(options.runtime, rounds)
    vectors = clustered_vectors(documents + QUERIES)
    costs += storing(documents)
    costs += collections(vectors[QUERIES:], vectors[:QUERIES])
    fitted = curves(costs)
    show(costs, fitted, wide_console())
    if not options.quick:
        save_results("growth", [[asdict(curve) for curve in fitted], [asdict(cost) for cost in costs]])


if __name__ == "__main__":
    main()
