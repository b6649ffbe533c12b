"""How fast are sentences encoded in one process, compared with sentence-transformers?

    python -m benchmarks.speed.encoding

encodes 2,000 sentences of STS Benchmark in batches of 32 of similar length, and some of them one at a time, by this
project's encoder and by `SentenceTransformer.encode` with its defaults and the same model, as a float32 folder. Each
runs in its own process with its default number of threads; they run alternately for several rounds. It prints sentences
per second in the median round with minimum and maximum, the ratios of our rates to theirs, and the smallest cosine of
each encoder's vectors to those of sentence-transformers in float32. $SEMBLANCE_DATA contains the sentences.

sentence-transformers with torch runs in this project's environment (constraints.txt). Its backends `onnx` and
`openvino` have their own environment, which is created if it is missing, with the newest compatible versions: `onnx`
needs transformers older than 5 (benchmarks/baselines/sentence-transformers.txt). Each exports the model itself.
`openvino` is configured for bfloat16; `onnx` has no such option.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from benchmarks.baselines.encoder_process import EncoderProcess
from benchmarks.baselines.encoders import BASELINES, ENCODERS, OURS, REFERENCE
from benchmarks.baselines.servers import MODEL
from benchmarks.baselines.texts import sts_sentences
from semblance.models.embeddings import unit_rows
from semblance.service.model_loading.float32_folder import write_float32_folder
from semblance.service.model_loading.registry import source_of
from tests.support.results import save_results
from tests.support.wide_console import wide_console

BATCH = 32
ALONE = 10  # one sentence of this many is also encoded alone


@dataclass(frozen=True, slots=True)
class Rates:
    """Sentences per second in the median round, and smallest cosine to the reference."""

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
    """Ratio of the rates of two encoders in the median round."""

    encoder: str
    beside: str
    batched: float
    one_at_a_time: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """Sentences per second by encoder and round, and the smallest cosines."""

    batched: Mapping[str, Sequence[float]]
    alone: Mapping[str, Sequence[float]]
    least_cosine: Mapping[str, float]


def measure(names: Sequence[str], texts: Sequence[str], rounds: int, model: str = MODEL) -> Rounds:
    """Measure these encoders of a model, which include the reference, on the same texts, alternately."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory())) / "model"
        write_float32_folder(source_of(model), folder)
        encoders = [stack.enter_context(EncoderProcess(name, ENCODERS[name](model, folder))) for name in names]
        vectors = {each.name: unit_rows(each.vectors(texts[::ALONE])) for each in track(encoders, "loading")}
        batched: dict[str, list[float]] = {name: [] for name in names}
        alone: dict[str, list[float]] = {name: [] for name in names}
        for number in track(range(rounds), "rounds"):
            for each in encoders if number % 2 == 0 else reversed(encoders):
                batched[each.name].append(each.per_second(texts, len(texts)))
                alone[each.name].append(each.per_second(texts[::ALONE], 1))
    exact = vectors[REFERENCE]
    cosines = {name: float((exact * each).sum(axis=1).min()) for name, each in vectors.items()}
    return Rounds(batched, alone, cosines)


def rates(rounds: Rounds) -> list[Rates]:
    """One row per encoder."""
    return [
        Rates(name, *_median_and_range(rounds.batched[name]), *_median_and_range(rounds.alone[name]), cosine)
        for name, cosine in rounds.least_cosine.items()
    ]


def ratios(rounds: Rounds) -> list[Ratio]:
    """The ratio of each of our encoders to each baseline."""
    names = list(rounds.least_cosine)
    return [
        Ratio(ours, theirs, *(_ratio(each[ours], each[theirs]) for each in (rounds.batched, rounds.alone)))
        for ours in names
        if ours in OURS
        for theirs in names
        if theirs in BASELINES
    ]


def _median_and_range(rates: Sequence[float]) -> tuple[float, float, float]:
    return median(rates), min(rates), max(rates)


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def show(rows: Sequence[Rates], compared: Sequence[Ratio], console: Console) -> None:
    """Print the rates and the ratios."""
    table = Table(
        Column("encoder", no_wrap=True), "batched", "least", "most", "one at a time", "least", "most", "least cosine"
    )
    table.title = "sentences per second"
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
    parser.add_argument("--ours", nargs="+", choices=list(OURS), default=list(OURS), help="which of our runtimes")
    parser.add_argument(
        "--beside", nargs="+", choices=list(BASELINES), default=list(BASELINES), help="and which others"
    )
    parser.add_argument("--model", default=MODEL, help="a built-in model")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of few sentences; saves no figures")
    options = parser.parse_args(arguments)
    count, rounds = (4 * BATCH, 1) if options.quick else (options.sentences, options.rounds)
    names = [*options.ours, *sorted({REFERENCE, *options.beside}, key=list(BASELINES).index)]
    results = measure(names, sts_sentences()[:count], rounds, options.model)
    rows, compared = rates(results), ratios(results)
    show(rows, compared, wide_console())
    if not options.quick:
        save_results("encoding", [[asdict(row) for row in rows], [asdict(line) for line in compared]])


if __name__ == "__main__":
    main()
