"""How many documents per second does /v2/rerank order, compared with cross-encoders?

    python -m benchmarks.speed.reranking

posts a query with 100 documents of 60 words, one request at a time, to this service with `cosine` and with its
default measure; and lets cross-encoders score the same number of documents: sentence-transformers' `CrossEncoder` in
batches of 32 in its own process, and infinity's /rerank in its own environment, which is created if it is missing
(benchmarks/baselines/). Their network has random weights, and the tokenizer and the size of the built-in model: 6
layers of 384 numbers and 12 heads. So this compares the speed of the two ways to order documents, and says nothing
about the order.

The service first answers queries with new documents (`new`), and then other queries with the same documents, whose
token vectors it has cached (`cached`). A cross-encoder reads query and document together, so nothing of either can be
cached. The systems run alternately, one at a time, while the others are suspended. It prints documents per second in
the median round with minimum and maximum, and the ratios of our rates to theirs in the median round; before that it
checks that sentence-transformers and infinity return the same scores. $SEMBLANCE_DATA contains the sentences of which
the documents are made.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, get_args

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.baselines.rerankers import CROSS_ENCODER, INFINITY, REFERENCE, Question, Reranker, running_rerankers
from benchmarks.baselines.texts import sts_sentences
from semblance.models.embeddings import Precision
from semblance.service.usecases.rerank import DEFAULT_MEASURE
from tests.support.results import save_results
from tests.support.wide_console import wide_console

MEASURES = ("cosine", DEFAULT_MEASURE)
DOCUMENTS = 100
WORDS = 60
QUESTIONS = 2  # in each measurement
NEW, CACHED = "new", "cached"
AGREEMENT = 0.01  # largest permitted difference of the scores of two systems in float32, as a share of their range
SAME_NUMBERS = tuple(name for name in INFINITY if name != "infinity-bfloat16")

System: TypeAlias = tuple[str, str, str]  # name, method, documents
Rounds: TypeAlias = Mapping[System, Sequence[float]]  # documents per second in each round


@dataclass(frozen=True, slots=True)
class Rate:
    """Documents per second of one system in the median round, with minimum and maximum."""

    system: str
    method: str
    documents: str
    per_s: float
    least: float
    most: float


def questions(sentences: Sequence[str]) -> Iterator[list[Question]]:
    """Questions for one measurement after the other, each with documents of its own."""
    rng = random.Random(0)
    while True:
        yield [
            Question(rng.choice(sentences), [_document(rng, sentences) for _ in range(DOCUMENTS)])
            for _ in range(QUESTIONS)
        ]


def _document(rng: random.Random, sentences: Sequence[str]) -> str:
    """The first words of random sentences, each of which has at least one."""
    return " ".join(" ".join(rng.choices(sentences, k=WORDS)).split()[:WORDS])


def require_agreement(rerankers: Sequence[Reranker], question: Question) -> None:
    """Check that the cross-encoders return the same scores, as far as they compute in float32.

    Raises:
        RuntimeError: those of one differ.
    """
    scores = {each.name: each.scores(question) for each in rerankers if each.name in (REFERENCE, *SAME_NUMBERS)}
    exact = scores.pop(REFERENCE)
    spread = float(np.ptp(exact))
    for name, theirs in scores.items():
        furthest = float(np.abs(theirs - exact).max())
        print(f"{name}: scores differ from {REFERENCE} by {furthest:.1e} of a range of {spread:.1e}", flush=True)
        if furthest > AGREEMENT * spread:
            raise RuntimeError(f"{name} returns other scores than {REFERENCE}: {theirs[:3]}, not {exact[:3]}")


def measure(rerankers: Sequence[Reranker], sentences: Sequence[str], rounds: int) -> Rounds:
    """Measure all systems alternately; the first round warms them up and does not count."""
    source = questions(sentences)
    found: dict[System, list[float]] = {}
    for number in track(range(rounds + 1), "rounds"):
        for each in rerankers if number % 2 == 0 else reversed(rerankers):
            new = next(source)
            rates = {NEW: _per_second(each, new)}
            if each.method != CROSS_ENCODER:
                asked = [question.query for question in next(source)]
                cached = [Question(*pair) for pair in zip(asked, (each.documents for each in new), strict=True)]
                rates[CACHED] = _per_second(each, cached)
            for documents, rate in rates.items():
                found.setdefault((each.name, each.method, documents), []).append(rate)
    return {system: each[1:] for system, each in found.items()}


def _per_second(reranker: Reranker, asked: Sequence[Question]) -> float:
    return sum(len(each.documents) for each in asked) / reranker.seconds(asked)


def rates(rounds: Rounds) -> list[Rate]:
    """A row for each system."""
    return [Rate(*system, median(each), min(each), max(each)) for system, each in rounds.items()]


def ratios(rounds: Rounds) -> list[dict[str, Any]]:
    """A row for each of our ways: the ratio of its rate to that of each cross-encoder, in the median round."""
    theirs = {name: each for (name, method, _), each in rounds.items() if method == CROSS_ENCODER}
    return [
        {"system": name, "method": method, "documents": documents}
        | {other: median(np.divide(ours, each).tolist()) for other, each in theirs.items()}
        for (name, method, documents), ours in rounds.items()
        if method != CROSS_ENCODER
    ]


def show(rows: Sequence[Rate], compared: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print the rates and the ratios."""
    table = Table(Column("system", no_wrap=True), "method", "documents", "per second", "least", "most")
    table.title = f"documents of {WORDS} words per second, {DOCUMENTS} a query"
    for row in rows:
        table.add_row(
            row.system, row.method, row.documents, *(f"{each:,.0f}" for each in (row.per_s, row.least, row.most))
        )
    console.print(table)
    table = Table(*compared[0], title="our rate over theirs")
    for line in compared:
        table.add_row(*(f"{each:.1f}" if isinstance(each, float) else each for each in line.values()))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", nargs="*", choices=INFINITY, default=INFINITY, help="which options of infinity")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round; saves no figures")
    options = parser.parse_args(arguments)
    sentences = sts_sentences()
    with (
        TemporaryDirectory() as folder,
        running_rerankers(get_args(Precision), MEASURES, options.against, Path(folder)) as rerankers,
    ):
        require_agreement(rerankers, next(questions(sentences))[0])
        load = os.getloadavg()[1]
        found = measure(rerankers, sentences, 1 if options.quick else options.rounds)
    rows, compared = rates(found), ratios(found)
    show(rows, compared, wide_console())
    print(f"load average of {os.cpu_count()} cores: {load:.1f} before the rounds, {os.getloadavg()[1]:.1f} after them")
    if not options.quick:
        save_results("reranking_speed", {"rates": [asdict(row) for row in rows], "our rate over theirs": compared})


if __name__ == "__main__":
    main()
