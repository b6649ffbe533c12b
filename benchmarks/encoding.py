"""How fast are sentences encoded in one process, beside sentence-transformers with the same model?

    python -m benchmarks.encoding

encodes 2,000 sentences of STS Benchmark in batches of 32 of like length, and then some of them one at a time, by this
project's encoder and by `SentenceTransformer.encode` with its defaults: each in a process of its own that sleeps while
another one works, in turn, several rounds. It prints sentences a second in the median round with the least and the
most, how many times as fast each of ours was as each of theirs, and how close all vectors are to those of
sentence-transformers in float32. $SEMBLANCE_DATA holds the sentences.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.figures import keep
from benchmarks.peers.libraries import CONTESTANTS, OURS, PEERS, REFERENCE, Encode
from benchmarks.peers.sentences import sentences
from models.embeddings import Floats, unit_rows

BATCH = 32
ALONE = 10  # of as many sentences, one is among those encoded one at a time


@dataclass(frozen=True, slots=True)
class Rates:
    """Sentences a second of one encoder in the median round; and the least cosine of its vectors to the reference."""

    encoder: str
    batched: float
    batched_least: float
    batched_most: float
    one_at_a_time: float
    one_at_a_time_least: float
    one_at_a_time_most: float
    least_cosine: float


class Contestant:
    """An encoder in a process of its own: its threads and settings touch no other's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def vectors(self, texts: Sequence[str]) -> Floats:
        """(b, d) unit vectors."""
        return unit_rows(self._pool.submit(_vectors, self.name, texts).result()).astype(np.float32)

    def per_second(self, texts: Sequence[str], at_once: int) -> float:
        """Texts a second, given so many at once."""
        return len(texts) / self._pool.submit(_seconds, self.name, texts, at_once).result()


@cache
def _loaded(name: str) -> Encode:
    return CONTESTANTS[name]()


def _vectors(name: str, texts: Sequence[str]) -> Floats:
    return _loaded(name)(texts)


def _seconds(name: str, texts: Sequence[str], at_once: int) -> float:
    encode = _loaded(name)
    began = time.perf_counter()
    for start in range(0, len(texts), at_once):
        encode(texts[start : start + at_once])
    return time.perf_counter() - began


def measured(names: Sequence[str], texts: Sequence[str], rounds: int) -> list[Rates]:
    """All of them over the same texts, in turn."""
    os.environ.pop("OMP_NUM_THREADS", None)  # each shall take as many threads as it thinks best
    with ExitStack() as stack:
        contestants = [stack.enter_context(Contestant(name)) for name in names]
        vectors = {each.name: each.vectors(texts[::ALONE]) for each in track(contestants, "loading")}
        batched: dict[str, list[float]] = {name: [] for name in names}
        alone: dict[str, list[float]] = {name: [] for name in names}
        for number in track(range(rounds), "rounds"):
            for each in contestants if number % 2 == 0 else reversed(contestants):
                batched[each.name].append(each.per_second(texts, len(texts)))
                alone[each.name].append(each.per_second(texts[::ALONE], 1))
    exact = vectors[REFERENCE]
    cosines = {name: float((exact * made).sum(axis=1).min()) for name, made in vectors.items()}
    return [Rates(name, *_spread(batched[name]), *_spread(alone[name]), cosines[name]) for name in names]


def _spread(rates: Sequence[float]) -> tuple[float, float, float]:
    return median(rates), min(rates), max(rates)


def ratios(rows: Sequence[Rates]) -> list[dict[str, str | float]]:
    """How many times as fast as each of theirs each of ours is: a line each."""
    return [
        {
            "encoder": ours.encoder,
            "beside": theirs.encoder,
            "times_batched": ours.batched / theirs.batched,
            "times_one_at_a_time": ours.one_at_a_time / theirs.one_at_a_time,
        }
        for ours in rows
        if ours.encoder in OURS
        for theirs in rows
        if theirs.encoder in PEERS
    ]


def show(rows: Sequence[Rates], console: Console) -> None:
    """Both tables."""
    table = Table("encoder", "batched", "least", "most", "one at a time", "least", "most", "least cosine")
    table.title = "sentences a second"
    for row in rows:
        rates = (row.batched, row.batched_least, row.batched_most)
        alone = (row.one_at_a_time, row.one_at_a_time_least, row.one_at_a_time_most)
        table.add_row(row.encoder, *(f"{each:,.0f}" for each in (*rates, *alone)), f"{row.least_cosine:.5f}")
    console.print(table)
    table = Table("encoder", "beside", "times, batched", "times, one at a time")
    for line in ratios(rows):
        table.add_row(*(f"{value:.2f}" if isinstance(value, float) else value for value in line.values()))
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", nargs="+", choices=list(OURS), default=list(OURS), help="which of our encoders")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of few sentences, whose figures are not kept")
    asked = parser.parse_args(arguments)
    count, rounds = (4 * BATCH, 1) if asked.quick else (asked.sentences, asked.rounds)
    rows = measured([*asked.ours, *PEERS], sentences()[:count], rounds)
    show(rows, Console())
    if not asked.quick:
        keep("encoding", [[asdict(row) for row in rows], ratios(rows)])


if __name__ == "__main__":
    main()
