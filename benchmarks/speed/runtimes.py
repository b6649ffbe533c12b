"""Which runtime is the fastest on this CPU, and which of them keep a text's vectors whatever stands beside it?

    python -m benchmarks.speed.runtimes

encodes sentences of STS-B (of $SEMBLANCE_DATA) by the built-in model without an adapter in every way that is served,
and in some that were tried beside them: in batches of 32 by length, and one at a time, each way in a process of its
own, in turn, after a round that does not count. It prints the medians of sentences a second, the least cosine of a
token's vector to that of torch in float32, and the least cosine of a token, and of a text, alone and in a batch, which
may not fall below 0.9998 and 0.9999. `semblance evaluate --conditions` tells what the served one does to the figures of
the seven STS sets.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import get_args

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.peers.sentences import sentences
from benchmarks.speed.candidate_runtimes import CANDIDATES, Candidate, candidate
from semblance.models import catalogue
from semblance.models.embeddings import Floats
from semblance.models.encoders.transformer import Transformer
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.agreement import least_cosine
from semblance.models.runtime import RUNTIMES, Compute, Precision
from semblance.models.text import Ints
from semblance.service.model_loading.registry import read_source
from tests.support.figures import keep
from tests.support.wide_console import wide_console

BATCH = 32
ALONE = 300  # sentences that are also encoded one at a time
SERVED: Mapping[str, tuple[str, Precision]] = {
    f"{runtime} {precision}": (runtime, precision)
    for runtime in catalogue.names(RUNTIMES)
    for precision in get_args(Precision)
}
EXACT = "torch float32"
TOKENS, POOLED = 0.9998, 0.9999


@dataclass(frozen=True, slots=True)
class Row:
    """One way. Rates are medians; cosines the least that there are."""

    way: str
    batches_per_s: float
    alone_per_s: float
    to_float32: float
    token_in_company: float
    text_in_company: float

    @property
    def keeps(self) -> bool:
        """Whether company changes no vector."""
        return self.token_in_company >= TOKENS and self.text_in_company >= POOLED


def measure(names: Sequence[str], ids: Sequence[Ints], rounds: int) -> Iterator[Row]:
    """All of these ways, EXACT among them, a round of each in turn."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    batches = [[ids[i] for i in order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    few = [[text] for text in ids[:ALONE]]
    mixed = [list(ids[start : start + BATCH]) for start in range(0, len(few), BATCH)]
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    os.environ.pop("OMP_NUM_THREADS", None)  # each shall take as many threads as it thinks best
    with ExitStack() as stack:
        own = {name: stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"))) for name in names}
        for number in track(range(1 + rounds), "rounds"):
            for name in names if number % 2 == 0 else reversed(names):
                rates[name].append((_rate(own[name], name, batches), _rate(own[name], name, few)))
        alone = {name: own[name].submit(_vectors, name, few).result() for name in names}
        company = {name: own[name].submit(_vectors, name, mixed).result()[: len(few)] for name in names}
    for name in names:
        by_batches, one_by_one = zip(*rates[name][1:], strict=True)  # in the first round all warm up
        yield Row(
            name,
            median(by_batches),
            median(one_by_one),
            least_cosine(zip(alone[name], alone[EXACT], strict=True)),
            least_cosine(zip(alone[name], company[name], strict=True)),
            least_cosine(zip(_pooled(alone[name]), _pooled(company[name]), strict=True)),
        )


@cache
def _loaded(name: str) -> Candidate:
    """The way of that name, in a process that has no other."""
    warnings.simplefilter("ignore")
    checkpoint = read_checkpoint(read_source("minilm").location)
    if name not in SERVED:
        with tempfile.TemporaryDirectory() as folder:
            return candidate(name, checkpoint, Path(folder))
    runtime, precision = SERVED[name]
    made = catalogue.find(RUNTIMES, runtime)(checkpoint, Compute("cpu", precision, runtime))
    return lambda ids: made.run(ids, [np.ones(len(text), np.float32) for text in ids], "tokens").vectors


def _rate(process: Executor, name: str, batches: Sequence[Sequence[Ints]]) -> float:
    """Texts a second of that way, in its process."""
    return sum(map(len, batches)) / process.submit(_seconds, name, batches).result()


def _seconds(name: str, batches: Sequence[Sequence[Ints]]) -> float:
    run = _loaded(name)
    began = time.perf_counter()
    for batch in batches:
        run(batch)
    return time.perf_counter() - began


def _vectors(name: str, batches: Sequence[Sequence[Ints]]) -> list[Floats]:
    """(n_i, d) of each text."""
    return [vectors for batch in batches for vectors in _loaded(name)(batch)]


def _pooled(texts: Sequence[Floats]) -> list[Floats]:
    """(1, d) of each."""
    return [vectors.mean(axis=0, keepdims=True) for vectors in texts]


def shown(row: Row) -> dict[str, float | str]:
    """For programs and pages; cosines with the digits that matter."""
    cosines = {name: f"{value:.5f}" for name, value in asdict(row).items() if name.endswith(("float32", "company"))}
    return {**asdict(row), **cosines, "keeps_the_law": str(row.keeps)}


def show(rows: Sequence[Row], texts: int, tokens: float, console: Console) -> None:
    """Print it."""
    title = f"{texts:,} sentences of {tokens:.1f} tokens on average"
    table = Table("runtime", "batches of 32", "alone", "to float32", "token", "text", "company", title=title)
    for row in rows:
        figures = (f"{row.batches_per_s:,.0f}/s", f"{row.alone_per_s:,.0f}/s", f"{row.to_float32:.5f}")
        company = (f"{row.token_in_company:.5f}", f"{row.text_in_company:.5f}", "holds" if row.keeps else "FAILS")
        table.add_row(row.way, *figures, *company)
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="ways, by the beginning of their names; torch float32 is always one")
    asked = parser.parse_args()
    texts = sentences()[: asked.sentences]
    encoder = Transformer("minilm", read_checkpoint(read_source("minilm").location))
    ids = [text.ids for text in encoder.tokenize(texts, "query", "END")]
    names = [name for name in (*SERVED, *CANDIDATES) if not asked.only or name.startswith((EXACT, *asked.only))]
    rows = list(measure(names, ids, asked.rounds))
    show(rows, len(ids), float(np.mean([len(text) for text in ids])), wide_console())
    keep("runtimes", [shown(row) for row in rows])


if __name__ == "__main__":
    main()
