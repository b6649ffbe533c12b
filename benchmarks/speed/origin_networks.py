"""How fast are the networks of Origin?

    python -m benchmarks.speed.origin_networks

prints the likelihoods per second (Eq. 2) of generative networks of several sizes with random weights, for sentences of
about 22 tokens: by wall time, and by CPU time divided by the number of threads, which other work on the machine affects
less. It prints the same for a training step, and the time in which the coherence model (Eq. 1) ranks one sentence, and
several at once, in all contexts of a large corpus.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from transformers import EncoderDecoderModel

from semblance_lab.origin.networks.coherence import Coherence, CoherenceRanking
from semblance_lab.origin.networks.generation import Generation, token_losses
from semblance_lab.origin.networks.generation_network import (
    GenerationInputs,
    Row,
    SpecialIds,
    build_inputs,
    new_network,
    parameter_count,
)
from semblance_lab.origin.networks.loop import PrecisionSetting, autocast
from semblance_lab.origin.origin_settings import CoherenceSettings, GenerationSettings
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SPECIAL_IDS = SpecialIds(pad=0, start=2, end=3)
DIMS, LAYERS, PIECES = (128, 192, 256), (1, 2), (4_096, 8_192)
PRECISIONS: tuple[PrecisionSetting, ...] = ("float32", "bfloat16")
MEAN_TOKENS, MAX_TOKENS = 22, 32
STEP = 128  # sentences in a training step
RANKED = (1, 8, 64)  # sentences ranked at once
HEAD_DIM = 64

Triple = tuple[list[Row], list[Row], list[Row]]


@dataclass(frozen=True, slots=True)
class Speed:
    """Likelihoods and trained sentences per second, by wall time and by CPU time of all threads."""

    dim: int
    layers: int
    pieces: int
    precision: PrecisionSetting
    parameters: int
    per_s: float
    per_s_of_processor: float
    trained_per_s: float
    trained_per_s_of_processor: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Seconds to rank sentences in contexts."""

    sentences: int
    contexts: int
    seconds: float


def random_rows(rng: np.random.Generator, n: int, pieces: int) -> list[Row]:
    """Sentences of random tokens."""
    lengths = np.clip(rng.normal(MEAN_TOKENS, 7, n).round(), 1, MAX_TOKENS).astype(int)
    return [rng.integers(5, pieces, length) for length in lengths]


def best(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds of the fastest round: wall time, and CPU time per thread."""
    wall, cpu = [], []
    for _ in range(rounds + 1):
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start_s)
        cpu.append((time.process_time() - start_cpu_s) / torch.get_num_threads())
    return min(wall[1:]), min(cpu[1:])


def speeds(rounds: int, n: int) -> Iterator[Speed]:
    """Speed of all sizes, scoring one sentence in every context, as Origin does."""
    for dim, layers, pieces in track(list(product(DIMS, LAYERS, PIECES)), "generative networks"):
        settings = GenerationSettings(dim=dim, layers=layers, heads=dim // HEAD_DIM)
        network = new_network(settings, pieces, MAX_TOKENS, SPECIAL_IDS)
        rng = np.random.default_rng(0)
        triple = random_rows(rng, n, pieces), random_rows(rng, 1, pieces) * n, random_rows(rng, n, pieces)
        rows = [random_rows(rng, STEP, pieces) for _ in CONTEXT_PARTS]
        batch = build_inputs(list(zip(*rows, strict=True)), [1] * STEP, SPECIAL_IDS)
        for precision in PRECISIONS:
            generation = Generation(dict.fromkeys(CONTEXT_PARTS, network), precision)
            scored = best(partial(score, generation, triple), rounds)
            trained = best(partial(step, network, batch, precision), rounds)
            yield Speed(
                *(dim, layers, pieces, precision, parameter_count(network)),
                *(len(CONTEXT_PARTS) * n / seconds for seconds in scored),
                *(STEP / seconds for seconds in trained),
            )


def score(generation: Generation, triple: Triple) -> None:
    """Score all parts of all three sentences."""
    for part in CONTEXT_PARTS:
        generation.log_likelihoods(part, *triple)


def step(network: EncoderDecoderModel, batch: GenerationInputs, precision: PrecisionSetting) -> None:
    """Forward and backward pass of a training step."""
    with autocast(network.device.type, precision):
        loss = token_losses(network, batch).mean()
    loss.backward()  # type: ignore[no-untyped-call]


def rankings(rounds: int, contexts: int) -> Iterator[Ranking]:
    """Ranking by the default coherence model over random keys."""
    settings = CoherenceSettings()
    network = Coherence(PIECES[-1], settings).eval()
    rng = np.random.default_rng(0)
    arrays = (
        np.zeros((1, network.dim), np.float16),  # sentences, which ranking does not read
        rng.normal(size=(contexts, 2 * network.rank)).astype(np.float16),
        rng.normal(size=contexts).astype(np.float32),
    )
    ranking = CoherenceRanking(network, arrays)
    for count in RANKED:
        rows = random_rows(rng, count, PIECES[-1])
        yield Ranking(count, contexts, best(partial(ranking.log_probabilities, rows), rounds)[0])


def show(rows: Sequence[Speed], ranked: Sequence[Ranking], console: Console) -> None:
    """Print the speeds and the rankings."""
    table = Table(
        "dim", "layers", "pieces", "precision", "parameters", "scored/s", "by processor", "trained/s", "by processor"
    )
    table.title = f"likelihoods and trained sentences per second, {torch.get_num_threads()} threads"
    for row in rows:
        figures = (row.per_s, row.per_s_of_processor, row.trained_per_s, row.trained_per_s_of_processor)
        sizes = (str(row.dim), str(row.layers), f"{row.pieces:,}", row.precision, f"{row.parameters:,}")
        table.add_row(*sizes, *(f"{each:,.0f}" for each in figures))
    console.print(table)
    times = Table("sentences", "contexts", "seconds", title="ranking by Eq. 1")
    for each in ranked:
        times.add_row(str(each.sentences), f"{each.contexts:,}", f"{each.seconds:.3f}")
    console.print(times)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds; the fastest counts")
    parser.add_argument("--contexts", type=int, default=330_000, help="contexts in which a sentence is ranked")
    parser.add_argument("--sentences", type=int, default=400, help="contexts in which a sentence is scored")
    options = parser.parse_args()
    ranked = list(rankings(options.rounds, options.contexts))
    rows = list(speeds(options.rounds, options.sentences))
    show(rows, ranked, wide_console())
    figures = {"speed": [asdict(row) for row in rows], "ranking": [asdict(row) for row in ranked]}
    save_results("origin_networks", figures)


if __name__ == "__main__":
    main()
