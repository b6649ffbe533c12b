"""How do costs grow: of encoding with the length of texts, of adding and of searching with the size of a collection?

    python -m benchmarks.speed.growth

encodes texts of 8 to 512 tokens, of each length about as many tokens at once; lets a collection of a service grow by
NDJSON, with an encoder of words that costs next to nothing; lets collections of synthetic vectors grow in every engine,
and searches them each time that they have doubled, one query at a time. It prints what a token, a document and a search
take, and the exponent e of the curve `cost = c * size^e` that fits best (least squares of logarithms): 0 is a flat
cost, 1 one that doubles when the size doubles. An engine that learns from its rows does so once, when half of them are
there, and that counts as adding them: the exponent of adding to `faiss_ivf` says more of that step than of growth.
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

from benchmarks.speed.measures import random_texts
from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.models.encoders.transformer import Transformer
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import RUNTIMES, Compute
from semblance.service.client import LINES_AT_ONCE, Client
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.exact_scan import SCANNED_ROWS
from semblance.service.model_loading.registry import read_source
from semblance.service.ports.documents import Change
from semblance.service.ports.indexes import ENGINES
from tests.support.figures import keep
from tests.support.running_service import running_service
from tests.support.servers.word_models import sentence, write_model
from tests.support.synthetic_vectors import DIM, clustered
from tests.support.wide_console import wide_console

TOKENS = (8, 16, 32, 64, 128, 256, 512)
BATCH_TOKENS = 1024  # at once, or one text
PASSES = 4  # of a length in a round: their median counts
SMALLEST = 1024  # documents
PAGE = 256  # documents that are added at once, as by POST /collections/{name}/documents
QUERIES = 200
K = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """What one unit takes at one size: of texts in tokens, or of collections in documents."""

    work: str
    size: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The exponent of a cost in the size, over the sizes that were measured."""

    work: str
    per: str
    smallest: int
    largest: int
    exponent: float


def encoding(runtime: str, rounds: int) -> list[Cost]:
    """A token by the length of its text, all lengths in turn."""
    checkpoint = replace(read_checkpoint(read_source("minilm").location), max_tokens=max(TOKENS))
    precision = catalogue.find(RUNTIMES, runtime).fastest("cpu")
    encoder = Transformer("minilm", checkpoint, Compute("cpu", precision, runtime))
    texts = {n: encoder.tokenize(random_texts(encoder, n, max(1, BATCH_TOKENS // n)), "query", "END") for n in TOKENS}
    taken: dict[int, list[float]] = {n: [] for n in TOKENS}
    for number in track(range(rounds), "encoding"):
        for n in TOKENS if number % 2 == 0 else reversed(TOKENS):
            passes = [_seconds(partial(encoder.encode, texts[n], "pooled")) for _ in range(PASSES)]
            taken[n].append(median(passes) / n / len(texts[n]))
    return [Cost("encoding", n, 1e6 * median(each)) for n, each in taken.items()]


def storing(documents: int) -> Iterator[Cost]:
    """A document that a service stores, by how many there are."""
    chance = random.Random(0)
    with TemporaryDirectory() as folder:
        model = write_model(Path(folder) / "words.npz", seed=0)
        with running_service(models=f"words={model}", cache="none") as url, Client(url) as client:
            client.ask("PUT", "/collections/growth")
            for before, size in track(list(pairwise(_sizes(documents))), "storing"):
                entries = [{"id": str(number), "text": sentence(chance)} for number in range(before, size)]
                lines = [json.dumps(entry).encode() + b"\n" for entry in entries]
                stored = _seconds(partial(_store, client, lines))
                yield Cost("storing", size, 1e6 * stored / len(lines))


def _store(client: Client, lines: Sequence[bytes]) -> None:
    for start in range(0, len(lines), LINES_AT_ONCE):
        for _ in client.index("growth", lines[start : start + LINES_AT_ONCE]):
            pass


def collections(vectors: Floats, queries: Floats) -> Iterator[Cost]:
    """A document that is added, and a search, by engine and size."""
    for engine in catalogue.names(ENGINES):
        made = catalogue.find(ENGINES, engine)(DIM, len(vectors))
        index = CollectionIndex(made, "epoch", engine)
        for before, size in track(list(pairwise(_sizes(len(vectors)))), engine):
            pages = [vectors[start : start + PAGE] for start in range(before, size, PAGE)]
            changes = [_changes(page, before + PAGE * number) for number, page in enumerate(pages)]
            added = sum(_seconds(partial(index.apply, each)) for each in changes)
            yield Cost(f"adding to {engine}", size, 1e6 * added / (size - before))
            if made.exact or size > SCANNED_ROWS:  # else all rows are looked at, whatever the engine
                searches = [_seconds(partial(index.search, query[None], K, None)) for query in queries]
                yield Cost(f"searching {engine}", size, 1e6 * median(searches))


def curves(costs: Sequence[Cost]) -> list[Curve]:
    """One for each kind of work that was measured at several sizes.

    >>> [curve] = curves([Cost("searching exact", size, 3.0 * size) for size in (1, 10, 100)])
    >>> round(curve.exponent, 6)
    1.0
    """
    made = []
    for work in dict.fromkeys(cost.work for cost in costs):
        own = [cost for cost in costs if cost.work == work]
        sizes = [cost.size for cost in own]
        if len(sizes) < 2:
            continue
        exponent = float(np.polyfit(np.log(sizes), np.log([cost.microseconds for cost in own]), 1)[0])
        per = {"encoding": "token", "storing": "document", "adding": "document", "searching": "search"}[
            work.partition(" ")[0]
        ]
        made.append(Curve(work, per, min(sizes), max(sizes), exponent))
    return made


def _sizes(largest: int) -> list[int]:
    """0, and then each twice the one before."""
    return [0, *(SMALLEST * 2**i for i in range((largest // SMALLEST).bit_length()))]


def _changes(page: Floats, first: int) -> list[Change]:
    return [Change(str(first + i), 1, vector, {}) for i, vector in enumerate(page)]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def show(costs: Sequence[Cost], fitted: Sequence[Curve], console: Console) -> None:
    """Print them: a table for each unit, in it a column for each kind of work and a line for each size."""
    found = {(cost.work, cost.size): f"{cost.microseconds:,.0f}" for cost in costs}
    for unit in dict.fromkeys(curve.per for curve in fitted):
        works = [curve.work for curve in fitted if curve.per == unit]
        table = Table("size", *works, title=f"microseconds a {unit}")
        for size in sorted({size for work, size in found if work in works}):
            table.add_row(f"{size:,}", *(found.get((work, size), "") for work in works))
        table.add_row("exponent", *(f"{curve.exponent:+.2f}" for curve in fitted if curve.per == unit))
        console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=128 * SMALLEST, help="most of them in a collection")
    parser.add_argument("--runtime", choices=catalogue.names(RUNTIMES), default="openvino", help="of the network")
    parser.add_argument("--rounds", type=int, default=5, help="of encoding")
    parser.add_argument("--quick", action="store_true", help="small sizes, whose figures are not kept")
    asked = parser.parse_args(arguments)
    documents, rounds = (4 * SMALLEST, 1) if asked.quick else (asked.documents, asked.rounds)
    costs = encoding(asked.runtime, rounds)
    vectors = clustered(documents + QUERIES)
    costs += storing(documents)
    costs += collections(vectors[QUERIES:], vectors[:QUERIES])
    fitted = curves(costs)
    show(costs, fitted, wide_console())
    if not asked.quick:
        keep("growth", [[asdict(curve) for curve in fitted], [asdict(cost) for cost in costs]])


if __name__ == "__main__":
    main()
