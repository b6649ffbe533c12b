"""How long does it take to highlight ten hits, or to keep the sentences that carry the score?

    python -m benchmarks.speed.highlights

stores documents of several lengths, made of sentences of $SEMBLANCE_DATA/text, in two collections of a service: with
token codes and without, where the hits' token vectors come from the cache. Sends searches with cached queries, plain,
with `highlight` and with `keep`, which take turns. Prints latencies and CPU time (core-milliseconds), and what either
adds for ten hits. It fails if one adds more than 5 ms to the median with token codes and 40 words.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.speed.hybrid import K, alternated, figures, of_service
from tests.support.results import save_results
from tests.support.running_service import Service, running_process
from tests.support.sentence_vectors import MIN_WORDS, sentences
from tests.support.wide_console import wide_console

DOCUMENTS = 500  # of each length
WORDS = (40, 140)  # of a document; the longer ones are nearly a passage
TOKENS = ("int8", "none")  # what a collection stores
QUERIES, QUERY_WORDS = 100, 14
PLAIN = "plain"
FIELDS: Mapping[str, Mapping[str, object]] = {
    PLAIN: {},
    "highlight": {"highlight": True},
    "keep": {"keep": {"share": 0.98}},
}
MAX_ADDED_MS, BOUNDED = 5.0, (40, "int8")


@dataclass(frozen=True, slots=True)
class Row:
    """Latency and CPU time of a plain search, and what a field adds."""

    words: int
    tokens: str
    field: str
    p50_ms: float
    p99_ms: float
    core_ms: float
    added_p50_ms: float
    added_p99_ms: float
    added_core_ms: float


def documents(texts: Iterator[str], words: int, count: int) -> list[str]:
    """Documents of whole sentences, with at least this many words."""
    made = []
    for _ in range(count):
        document = next(texts)
        while len(document.split()) < words:
            document += " " + next(texts)
        made.append(document)
    return made


def measure(texts: Iterator[str], count: int, rounds: int) -> Iterator[Row]:
    """Measure each length, with token codes and without; queries and documents are made of the texts."""
    asked = [" ".join(next(texts).split()[:QUERY_WORDS]) for _ in range(QUERIES)]
    with running_process() as service, Client(service.url, timeout_s=600) as client:
        for words in WORDS:
            own = documents(texts, words, count)
            for tokens in TOKENS:
                name = f"{tokens}-{words}"
                client.create_collection(name, tokens=tokens)  # type: ignore[arg-type]
                entries = [{"id": str(number), "text": text} for number, text in enumerate(own)]
                client.upload(track(entries, name, transient=True), name)
                yield from _rows(service, name, asked, rounds, words, tokens)


def _rows(
    service: Service, collection: str, asked: Sequence[str], rounds: int, words: int, tokens: str
) -> Iterator[Row]:
    with of_service(service, collection, asked, FIELDS) as systems:
        times = {field: figures(each) for field, each in alternated(systems, len(asked), rounds).items()}
    plain = times.pop(PLAIN)
    for field, own in times.items():
        yield Row(words, tokens, field, *plain, *(a - b for a, b in zip(own, plain, strict=True)))


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each length and collection."""
    names = (
        "words each",
        "token codes",
        "p50 ms",
        "p99 ms",
        "core-ms",
        "with",
        "added p50",
        "added p99",
        "added core-ms",
    )
    table = Table(*names, title=f"a plain search with {K} hits, and what a field adds")
    for row in results:
        times = (row.p50_ms, row.p99_ms, row.core_ms)
        added = (row.added_p50_ms, row.added_p99_ms, row.added_core_ms)
        plain, more = [f"{each:.2f}" for each in times], [f"{each:+.2f}" for each in added]
        table.add_row(str(row.words), row.tokens, *plain, row.field, *more)
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="number of documents of each length")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    texts = iter(sentences(QUERIES + options.documents * sum(WORDS) // MIN_WORDS))
    results = list(measure(texts, options.documents, options.rounds))
    show(results, wide_console())
    save_results("highlights", [asdict(row) for row in results])
    slow = [each for each in results if (each.words, each.tokens) == BOUNDED and each.added_p50_ms > MAX_ADDED_MS]
    if slow:
        added = ", ".join(f"{each.field} {each.added_p50_ms:.2f} ms" for each in slow)
        raise SystemExit(f"{K} hits take more than {MAX_ADDED_MS} ms longer: {added}")


if __name__ == "__main__":
    main()
