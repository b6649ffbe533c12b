"""Which runtime is the fastest on this CPU, and whose vectors are independent of the batch?

    python -m benchmarks.speed.runtimes

encodes STS-B sentences (from $SEMBLANCE_DATA) by the built-in model without an adapter, with every runtime that is
served and some that were only tried: in batches of 32 by length, and one at a time. Each runs in its own process; they
run alternately, after a warm-up round. It prints median rates, the smallest cosine of a token's vector to that of torch
in float32, and the smallest cosines of tokens and of texts alone to the same in a batch, which may not be below 0.9998
and 0.9999. `semblance evaluate --conditions` shows the effect of the served one on the figures of the seven STS sets.
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

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.baselines.encoders import SERVED
from benchmarks.baselines.texts import sts_sentences
from benchmarks.speed.experimental_runtimes import EXPERIMENTAL, Encode, experimental_runtime
from semblance.models import catalogue
from semblance.models.embeddings import Floats, Precision
from semblance.models.encoders.transformer import Transformer
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.agreement import least_cosine
from semblance.models.runtime import RUNTIMES, Compute
from semblance.models.text import Ints
from semblance.service.model_loading.registry import read_source
from tests.support.results import save_results
from tests.support.wide_console import wide_console

BATCH = 32
ALONE = 300  # sentences that are also encoded alone
WAYS: Mapping[str, tuple[str, Precision]] = {" ".join(each): each for each in SERVED}
EXACT = "torch float32"
TOKENS, POOLED = 0.9998, 0.9999


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one runtime (`way`): median rates, and smallest cosines."""

    way: str
    batches_per_s: float
    alone_per_s: float
    to_float32: float
    token_in_company: float
    text_in_company: float

    @property
    def keeps(self) -> bool:
        """Whether vectors are independent of the batch."""
        return self.token_in_company >= TOKENS and self.text_in_company >= POOLED


def measure(names: Sequence[str], ids: Sequence[Ints], rounds: int) -> Iterator[Row]:
    """Measure these runtimes, which include EXACT, alternately."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    batches = [[ids[i] for i in order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    few = [[text] for text in ids[:ALONE]]
    mixed = [list(ids[start : start + BATCH]) for start in range(0, len(few), BATCH)]
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    os.environ.pop("OMP_NUM_THREADS", None)  # each process uses its default number of threads
    with ExitStack() as stack:
        processes = {name: stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"))) for name in names}
        for number in track(range(1 + rounds), "rounds"):
            for name in names if number % 2 == 0 else reversed(names):
                rates[name].append((_rate(processes[name], name, batches), _rate(processes[name], name, few)))
        alone = {name: processes[name].submit(_vectors, name, few).result() for name in names}
        in_batch = {name: processes[name].submit(_vectors, name, mixed).result()[: len(few)] for name in names}
    for name in names:
        by_batches, one_by_one = zip(*rates[name][1:], strict=True)  # without the warm-up round
        yield Row(
            name,
            median(by_batches),
            median(one_by_one),
            least_cosine(zip(alone[name], alone[EXACT], strict=True)),
            least_cosine(zip(alone[name], in_batch[name], strict=True)),
            least_cosine(zip(_pooled(alone[name]), _pooled(in_batch[name]), strict=True)),
        )


@cache
def _load(name: str) -> Encode:
    """Load a runtime; a process loads only one."""
    warnings.simplefilter("ignore")
    checkpoint = read_checkpoint(read_source("minilm").location)
    if name not in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            return experimental_runtime(name, checkpoint, Path(folder))
    runtime, precision = WAYS[name]
    loaded = catalogue.find(RUNTIMES, runtime)(checkpoint, Compute("cpu", precision, runtime))
    return lambda ids: loaded.run(ids, [np.ones(len(text), np.float32) for text in ids], "tokens").vectors


def _rate(process: Executor, name: str, batches: Sequence[Sequence[Ints]]) -> float:
    """Texts per second of a runtime in its process."""
    return sum(map(len, batches)) / process.submit(_seconds, name, batches).result()


def _seconds(name: str, batches: Sequence[Sequence[Ints]]) -> float:
    encode = _load(name)
    start_s = time.perf_counter()
    for batch in batches:
        encode(batch)
    return time.perf_counter() - start_s


def _vectors(name: str, batches: Sequence[Sequence[Ints]]) -> list[Floats]:
    """(n_i, d) token vectors of each text."""
    return [vectors for batch in batches for vectors in _load(name)(batch)]


def _pooled(texts: Sequence[Floats]) -> list[Floats]:
    """(1, d) mean vector of each text."""
    return [vectors.mean(axis=0, keepdims=True) for vectors in texts]


def table_cells(row: Row) -> dict[str, float | str]:
    """The figures that are saved; cosines with five decimals."""
    cosines = {name: f"{value:.5f}" for name, value in asdict(row).items() if name.endswith(("float32", "company"))}
    return {**asdict(row), **cosines, "keeps_the_law": str(row.keeps)}


def show(rows: Sequence[Row], texts: int, tokens: float, console: Console) -> None:
    """Print the figures."""
    title = f"{texts:,} sentences of {tokens:.1f} tokens on average"
    table = Table("runtime", "batches of 32", "alone", "to float32", "token", "text", "in a batch", title=title)
    for row in rows:
        figures = (f"{row.batches_per_s:,.0f}/s", f"{row.alone_per_s:,.0f}/s", f"{row.to_float32:.5f}")
        in_batch = (f"{row.token_in_company:.5f}", f"{row.text_in_company:.5f}", "same" if row.keeps else "DIFFERENT")
        table.add_row(row.way, *figures, *in_batch)
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="prefixes of names; torch float32 is always included")
    options = parser.parse_args()
    texts = sts_sentences()[: options.sentences]
    encoder = Transformer("minilm", read_checkpoint(read_source("minilm").location))
    ids = [text.ids for text in encoder.tokenize(texts, "query", "END")]
    names = [name for name in (*WAYS, *EXPERIMENTAL) if not options.only or name.startswith((EXACT, *options.only))]
    rows = list(measure(names, ids, options.rounds))
    show(rows, len(ids), float(np.mean([len(text) for text in ids])), wide_console())
    save_results("runtimes", [table_cells(row) for row in rows])


if __name__ == "__main__":
    main()
