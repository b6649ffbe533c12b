"""Latency of suggestions, and of searches with typos.

    python -m benchmarks.speed.typing

fills a service with documents of two sentences from $SEMBLANCE_DATA/text and synthetic vectors. It asks for suggestions
by the first letters of words; and searches by four keywords of a document, as they are and with two letters of one
swapped, with `typos` and without, which take turns. Prints the latencies over HTTP, and by how much memory an index has
grown after its first word with a typo. It fails if the 99th percentile of the suggestions is above 10 ms, or if looking
for typos adds more than 5 ms to the median search.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.speed.hybrid import (
    COLLECTION,
    DOCUMENTS,
    MODEL,
    QUERIES,
    SPARE,
    alternated,
    documents,
    figures,
    of_service,
    queries,
    saved_index,
)
from benchmarks.speed.term_memory import resident_without_freed_mb
from semblance.models.tokenization.terms import query_terms
from semblance.service.settings import Settings
from tests.support.prefilled_store import fill_collection
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.sentence_vectors import sentences
from tests.support.synthetic_vectors import clustered_vectors
from tests.support.wide_console import wide_console

MAX_SUGGESTIONS_MS = 10.0  # p99
MAX_ADDED_MS = 5.0  # p50
LETTERS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Row:
    """Latency of a request, and how much of it `typos` adds."""

    request: str
    p50_ms: float
    p99_ms: float
    added_p50_ms: float


def misspelled(query: str, rng: random.Random) -> str:
    """The query with two letters in the middle of its longest word swapped."""
    word = max(query.split(), key=len)
    at = rng.randrange(1, len(word) - 2)
    return query.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def measure(service: Service, asked: Sequence[str], rounds: int) -> list[Row]:
    """Time requests to the service."""
    rng, results = random.Random(0), list[Row]()
    for letters in LETTERS:
        beginnings = [query[: query.rindex(" ") + 1 + letters] for query in asked]
        with of_service(service, COLLECTION, beginnings, {"suggest": {}}, path="/suggest") as systems:
            p50, p99, _ = figures(alternated(systems, len(asked), rounds)["suggest"])
        results.append(Row(f"suggestions for {letters} letters", p50, p99, 0.0))
    kinds = {"keywords": asked, "keywords, one with a typo": [misspelled(each, rng) for each in asked]}
    for kind, own in kinds.items():
        with of_service(service, COLLECTION, own, {str(on): {"typos": on} for on in (False, True)}) as systems:
            times = alternated(systems, len(own), rounds)
        without, (p50, p99, _) = figures(times["False"]), figures(times["True"])
        results.append(Row(f"search by {kind}", p50, p99, p50 - without[0]))
    return results


def vocabulary_mb(settings: Settings) -> float:
    """By how much memory the index grows by its first word with a typo."""
    index = saved_index(settings)
    before_mb = resident_without_freed_mb()
    index.corrections(query_terms("documetn"), None)
    return resident_without_freed_mb() - before_mb


def show(results: Sequence[Row], count: int, memory_mb: float, console: Console) -> None:
    """Print a row for each kind of request, and the memory."""
    table = Table("request", "p50 ms", "p99 ms", "of it for typos", title=f"{count:,} documents")
    for row in results:
        table.add_row(row.request, f"{row.p50_ms:.2f}", f"{row.p99_ms:.2f}", f"{row.added_p50_ms:+.2f}")
    console.print(table)
    console.print(f"vocabulary: {memory_mb:.1f} MB")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, choices=range(1, DOCUMENTS + 1), metavar="N", default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    vectors, texts = clustered_vectors(options.documents), documents(options.documents)
    asked = next(iter(queries(texts, sentences(DOCUMENTS + SPARE)[DOCUMENTS:]).values()))[:QUERIES]
    with TemporaryDirectory() as folder:
        service = Service(Path(folder), models=MODEL)
        fill_collection(service, Path(folder), COLLECTION, texts, vectors)
        memory_mb = vocabulary_mb(Settings(home=Path(folder)))
        service.start()
        try:
            results = measure(service, asked, options.rounds)
        finally:
            service.stop()
    show(results, options.documents, memory_mb, wide_console())
    save_results("typing", [*map(asdict, results), {"vocabulary_mb": memory_mb}])
    slow = [row.request for row in results if row.request.startswith("sugg") and row.p99_ms > MAX_SUGGESTIONS_MS]
    if slow or any(row.added_p50_ms > MAX_ADDED_MS for row in results):
        raise SystemExit(f"too slow: {slow or 'typos'}")


if __name__ == "__main__":
    main()
