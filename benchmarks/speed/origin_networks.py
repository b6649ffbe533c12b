"""How fast are the networks of Origin?

    python -m benchmarks.speed.origin_networks

prints how many likelihoods a second (Eq. 2) a generative network of each size computes for sentences of some 22 tokens,
with random weights: by the clock, and what the processor time alone would give on all threads, which other work on the
machine disturbs less. Then the same of one step of its training; and how long the coherence model (Eq. 1) takes to rank
one sentence, and several at once, in every context of a large corpus.
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

from semblance.models.origin.context_parts import PARTS
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.coherence_ranking import CoherenceRanking
from semblance.models.origin.networks.generation import Generation, token_losses
from semblance.models.origin.networks.generation_inputs import Inputs, Marks, Row, inputs
from semblance.models.origin.networks.generation_network import new_network, parameters
from semblance.models.origin.networks.reduced_precision import Asked, autocast
from semblance.models.origin.origin_settings import CoherenceSettings, GenerationSettings
from tests.support.figures import keep
from tests.support.wide_console import wide_console

MARKS = Marks(pad=0, start=2, end=3)
DIMS, LAYERS, PIECES = (128, 192, 256), (1, 2), (4_096, 8_192)
PRECISIONS: tuple[Asked, ...] = ("float32", "bfloat16")
MEAN_TOKENS, MOST_TOKENS = 22, 32
STEP = 128  # sentences that are written in a step of training
ASKED = (1, 8, 64)  # sentences that are ranked at once
HEAD = 64  # numbers of each head of attention

Triple = tuple[list[Row], list[Row], list[Row]]


@dataclass(frozen=True, slots=True)
class Speed:
    """Likelihoods, and sentences of training, a second: by the clock, and by processor time on all threads."""

    dim: int
    layers: int
    pieces: int
    precision: Asked
    parameters: int
    per_s: float
    per_s_of_processor: float
    trained_per_s: float
    trained_per_s_of_processor: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Seconds to rank so many sentences in so many contexts."""

    sentences: int
    contexts: int
    seconds: float


def drawn(rng: np.random.Generator, n: int, pieces: int) -> list[Row]:
    """Sentences of random tokens."""
    lengths = np.clip(rng.normal(MEAN_TOKENS, 7, n).round(), 1, MOST_TOKENS).astype(int)
    return [rng.integers(5, pieces, length) for length in lengths]


def best(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds of the best of some rounds: by the clock, and of processor time a thread."""
    clock, processor = [], []
    for _ in range(rounds + 1):
        began, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - began)
        processor.append((time.process_time() - used) / torch.get_num_threads())
    return min(clock[1:]), min(processor[1:])


def speeds(rounds: int, n: int) -> Iterator[Speed]:
    """Every size; the sentence that is scored is in every context, as Origin asks it."""
    for dim, layers, pieces in track(list(product(DIMS, LAYERS, PIECES)), "generative networks"):
        network = new_network(GenerationSettings(dim=dim, layers=layers, heads=dim // HEAD), pieces, MOST_TOKENS, MARKS)
        rng = np.random.default_rng(0)
        triple = drawn(rng, n, pieces), drawn(rng, 1, pieces) * n, drawn(rng, n, pieces)
        rows = [drawn(rng, STEP, pieces) for _ in PARTS]
        batch = inputs(list(zip(*rows, strict=True)), [1] * STEP, MARKS)
        for precision in PRECISIONS:
            generation = Generation(dict.fromkeys(PARTS, network), precision)
            scored = best(partial(score, generation, triple), rounds)
            trained = best(partial(step, network, batch, precision), rounds)
            yield Speed(
                *(dim, layers, pieces, precision, parameters(network)),
                *(len(PARTS) * n / seconds for seconds in scored),
                *(STEP / seconds for seconds in trained),
            )


def score(generation: Generation, triple: Triple) -> None:
    """All parts of all three sentences."""
    for part in PARTS:
        generation.log_likelihoods(part, *triple)


def step(network: EncoderDecoderModel, batch: Inputs, precision: Asked) -> None:
    """Forth and back through the network."""
    with autocast(network.device.type, precision):
        loss = token_losses(network, batch).mean()
    loss.backward()  # type: ignore[no-untyped-call]


def rankings(rounds: int, contexts: int) -> Iterator[Ranking]:
    """The default coherence model over random keys."""
    settings = CoherenceSettings()
    network = Coherence(PIECES[-1], settings).eval()
    rng = np.random.default_rng(0)
    arrays = (
        np.zeros((1, network.dim), np.float16),  # of the sentences, which ranking does not read
        rng.normal(size=(contexts, 2 * network.rank)).astype(np.float16),
        rng.normal(size=contexts).astype(np.float32),
    )
    ranking = CoherenceRanking(network, arrays)
    for asked in ASKED:
        rows = drawn(rng, asked, PIECES[-1])
        yield Ranking(asked, contexts, best(partial(ranking.log_probabilities, rows), rounds)[0])


def show(found: Sequence[Speed], ranked: Sequence[Ranking], console: Console) -> None:
    """Both tables."""
    table = Table(
        "dim", "layers", "pieces", "precision", "parameters", "scored/s", "by processor", "trained/s", "by processor"
    )
    table.title = f"likelihoods and trained sentences a second, {torch.get_num_threads()} threads"
    for row in found:
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
    parser.add_argument("--rounds", type=int, default=5, help="of which the best counts")
    parser.add_argument("--contexts", type=int, default=330_000, help="that a sentence is ranked in")
    parser.add_argument("--sentences", type=int, default=400, help="contexts that a sentence is scored in")
    given = parser.parse_args()
    ranked = list(rankings(given.rounds, given.contexts))
    found = list(speeds(given.rounds, given.sentences))
    show(found, ranked, wide_console())
    keep("origin_networks", {"speed": [asdict(row) for row in found], "ranking": [asdict(row) for row in ranked]})


if __name__ == "__main__":
    main()
