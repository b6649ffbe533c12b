"""How fast are sentences encoded in one process, beside sentence-transformers with the same model?

    python -m benchmarks.speed.encoding

encodes 2,000 sentences of STS Benchmark in batches of 32 of like length, and then some of them one at a time, by this
project's encoder and by `SentenceTransformer.encode` with its defaults: each in a process of its own that sleeps while
another one works and takes as many threads as it thinks best, in turn, several rounds. It prints sentences a second in
the median round with the least and the most, how many times as fast each of ours was as each of theirs, and how close
all vectors are to those of sentence-transformers in float32. $SEMBLANCE_DATA holds the sentences.

sentence-transformers computes by torch as this project's own environment has it (constraints.txt). Its backends `onnx`
and `openvino` have an environment of theirs, which is made when it is missing, with the newest versions that go
together: its `onnx` needs a transformers older than 5 (benchmarks/peers/sentence-transformers.txt). Each exports the
model itself. `openvino` is told to multiply in bfloat16; `onnx` knows no such hint.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.peers.encoder_process import EncoderProcess
from benchmarks.peers.libraries import CONTESTANTS, OURS, PEERS, REFERENCE
from benchmarks.peers.sentences import sentences
from semblance.models.embeddings import unit_rows
from tests.support.figures import keep
from tests.support.wide_console import wide_console

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


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast one encoder is as another, in the median round."""

    encoder: str
    beside: str
    batched: float
    one_at_a_time: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """Sentences a second in each round by encoder, in batches and one at a time; and their least cosines."""

    batched: Mapping[str, Sequence[float]]
    alone: Mapping[str, Sequence[float]]
    least_cosine: Mapping[str, float]


def measured(names: Sequence[str], texts: Sequence[str], rounds: int) -> Rounds:
    """All of them, the reference among them, over the same texts, in turn."""
    with ExitStack() as stack:
        contestants = [stack.enter_context(EncoderProcess(name, CONTESTANTS[name]())) for name in names]
        vectors = {each.name: unit_rows(each.vectors(texts[::ALONE])) for each in track(contestants, "loading")}
        batched: dict[str, list[float]] = {name: [] for name in names}
        alone: dict[str, list[float]] = {name: [] for name in names}
        for number in track(range(rounds), "rounds"):
            for each in contestants if number % 2 == 0 else reversed(contestants):
                batched[each.name].append(each.per_second(texts, len(texts)))
                alone[each.name].append(each.per_second(texts[::ALONE], 1))
    exact = vectors[REFERENCE]
    return Rounds(batched, alone, {name: float((exact * made).sum(axis=1).min()) for name, made in vectors.items()})


def rates(rounds: Rounds) -> list[Rates]:
    """A line for each encoder."""
    return [
        Rates(name, *_spread(rounds.batched[name]), *_spread(rounds.alone[name]), cosine)
        for name, cosine in rounds.least_cosine.items()
    ]


def ratios(rounds: Rounds) -> list[Ratio]:
    """How many times as fast as each of theirs each of ours is."""
    names = list(rounds.least_cosine)
    return [
        Ratio(ours, theirs, *(_times(each[ours], each[theirs]) for each in (rounds.batched, rounds.alone)))
        for ours in names
        if ours in OURS
        for theirs in names
        if theirs in PEERS
    ]


def _spread(rates: Sequence[float]) -> tuple[float, float, float]:
    return median(rates), min(rates), max(rates)


def _times(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def show(rows: Sequence[Rates], compared: Sequence[Ratio], console: Console) -> None:
    """Both tables."""
    table = Table(
        Column("encoder", no_wrap=True), "batched", "least", "most", "one at a time", "least", "most", "least cosine"
    )
    table.title = "sentences a second"
    for row in rows:
        batched = (row.batched, row.batched_least, row.batched_most)
        alone = (row.one_at_a_time, row.one_at_a_time_least, row.one_at_a_time_most)
        table.add_row(row.encoder, *(f"{each:,.0f}" for each in (*batched, *alone)), f"{row.least_cosine:.5f}")
    console.print(table)
    table = Table(Column("encoder", no_wrap=True), "beside", "times, batched", "times, one at a time")
    for line in compared:
        table.add_row(line.encoder, line.beside, f"{line.batched:.2f}", f"{line.one_at_a_time:.2f}")
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", nargs="+", choices=list(OURS), default=list(OURS), help="which of ours")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of few sentences, whose figures are not kept")
    asked = parser.parse_args(arguments)
    count, rounds = (4 * BATCH, 1) if asked.quick else (asked.sentences, asked.rounds)
    made = measured([*asked.ours, *PEERS], sentences()[:count], rounds)
    rows, compared = rates(made), ratios(made)
    show(rows, compared, wide_console())
    if not asked.quick:
        keep("encoding", [[asdict(row) for row in rows], [asdict(line) for line in compared]])


if __name__ == "__main__":
    main()
