"""How much memory and time does training by RCMD take?

    python -m benchmarks.speed.training
    python -m benchmarks.speed.training --device cuda --network bert-base

prints peak memory and median time of forward and backward pass, for each implementation of RCMD between all pairs of a
batch (tests/support/rcmd_variants.py): of the loss alone, on random vectors of 384 dimensions, and of whole training
steps (network, loss, backward, optimizer) of a network with random weights, beside the paper's figures for dense and
sparse. A batch has twice as many candidates as anchors, of 32 tokens each. Memory is measured in a separate process,
time with the implementations alternating. On a GPU the network runs in float16, like the paper's.

An implementation that needs more memory than is free is skipped. It fails if, in the largest batch, the sparse loss
takes more than a third of the memory of the dense one by matrix product, or more than twice its time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import TypeAlias

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from transformers import BertConfig, BertModel

from semblance_lab.training.losses.pairwise_rcmd import TokenBatch
from semblance_lab.training.objective import in_batch_cross_entropy
from tests.support.peak_memory import PeakMemory, free_bytes, run_in_subprocess
from tests.support.rcmd_variants import VARIANTS
from tests.support.results import save_results
from tests.support.wide_console import wide_console

TOKENS = 32
DIM = 384
SCALE = 20.0
BATCHES = (16, 32, 64, 128)
NETWORKS: Mapping[str, BertConfig] = {
    "minilm": BertConfig(  # of the built-in model
        hidden_size=384, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=12
    ),
    "bert-base": BertConfig(),
}
PAPER: Mapping[str, Sequence[str]] = {  # BERT-base on one V100, at the same batches
    "the paper's dense": ("7.5 GB", "22.2 GB", "out of memory", "out of memory"),
    "the paper's sparse": ("4.6 GB", "6.1 GB", "10.6 GB", "25.8 GB"),
}
MAX_MEMORY, MAX_TIME = 1 / 3, 2.0  # of the sparse loss, relative to the dense one

Run: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Work:
    """The loss alone in one implementation (`form`), or a training step if a network is named."""

    form: str
    batch: int
    device: str
    network: str | None = None

    def prepare(self) -> Run:
        """Prepare data; returns a function that runs the work once."""
        return self._loss() if self.network is None else self._step(NETWORKS[self.network])

    def _loss(self) -> Run:
        generator = torch.Generator().manual_seed(0)
        vectors = torch.randn(3 * self.batch, TOKENS, DIM, generator=generator).to(self.device)
        anchors, candidates = (part.clone().requires_grad_() for part in vectors.tensor_split([self.batch]))

        def run() -> None:
            anchors.grad = candidates.grad = None
            self._loss_of(anchors, candidates).backward()  # type: ignore[no-untyped-call]

        return run

    def _step(self, config: BertConfig) -> Run:
        torch.manual_seed(0)
        network = BertModel(config).to(self.device).train()  # type: ignore[arg-type] # stub of to()
        optimizer = torch.optim.AdamW(network.parameters(), lr=5e-5)
        ids = torch.randint(1000, config.vocab_size, (3 * self.batch, TOKENS), device=self.device)

        def run() -> None:
            with torch.autocast(self.device, torch.float16, enabled=self.device != "cpu"):
                vectors = network(ids).last_hidden_state
            loss = self._loss_of(*vectors.float().tensor_split([self.batch]))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()

        return run

    def _loss_of(self, anchors: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        x, y = (TokenBatch(each, each.new_ones(each.shape[:2], dtype=torch.bool)) for each in (anchors, candidates))
        return in_batch_cross_entropy([VARIANTS[self.form](x, y)], SCALE)

    def estimated_bytes(self) -> int:
        """Rough estimate of the memory: simultaneous tensors of the largest size."""
        dim = DIM if self.network is None else NETWORKS[self.network].hidden_size
        copies, entries = {
            "broadcast dense": (6, TOKENS * TOKENS * dim),
            "gathered": (2, 2 * TOKENS * dim),
        }.get(self.form, (3, TOKENS * TOKENS))
        return copies * 4 * 2 * self.batch**2 * entries


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of one piece of work, None if it was skipped."""

    form: str
    batch: int
    network: str | None
    peak_mb: float | None = None
    seconds: float | None = None


def measure(works: Sequence[Work], rounds: int, max_bytes: float) -> Iterator[Row]:
    """Measure several implementations of the same work."""
    small = [work for work in works if work.estimated_bytes() <= max_bytes]
    peaks = {work.form: run_in_subprocess(partial(peak_bytes, work)) / 1e6 for work in small}
    seconds = median_seconds(small, rounds)
    for work in works:
        yield Row(work.form, work.batch, work.network, peaks.get(work.form), seconds.get(work.form))


def peak_bytes(work: Work) -> int:
    """Peak memory: of a loss in addition to its vectors, of a step including the network."""
    replace(work, batch=2).prepare()()  # warm-up of torch
    before = PeakMemory(work.device)
    run = work.prepare()
    peak = PeakMemory(work.device) if work.network is None else before
    for _ in range(2):  # an optimizer allocates its state in the first step
        run()
    return peak.bytes()


def median_seconds(works: Sequence[Work], rounds: int) -> dict[str, float]:
    """Seconds of the median round by form; forms alternate, after a warm-up round."""
    runs = {work.form: work.prepare() for work in works}
    times: dict[str, list[float]] = {form: [] for form in runs}
    for _ in range(rounds + 1):
        for work in works:
            start_s = time.perf_counter()
            runs[work.form]()
            if work.device != "cpu":
                torch.cuda.synchronize()
            times[work.form].append(time.perf_counter() - start_s)
    return {form: median(seconds[1:]) for form, seconds in times.items()}


def show(rows: Sequence[Row], title: str, references: Mapping[str, Sequence[str]], console: Console) -> None:
    """Print a row per form and a column per batch."""
    table = Table("form", *(f"batch {batch}" for batch in dict.fromkeys(row.batch for row in rows)), title=title)
    for form in dict.fromkeys(row.form for row in rows):
        table.add_row(form, *(_cell(row) for row in rows if row.form == form))
    for name, figures in references.items():
        table.add_row(name, *figures)
    console.print(table)


def _cell(row: Row) -> str:
    return "too large" if row.peak_mb is None else f"{row.peak_mb:,.0f} MB, {1000 * (row.seconds or 0):,.0f} ms"


def shares(rows: Sequence[Row]) -> tuple[float, float]:
    """Memory and time of the sparse loss relative to the dense one, in the largest batch."""
    last = {row.form: row for row in rows if row.network is None and row.batch == rows[-1].batch}
    sparse, dense = last["sparse"], last["matmul dense"]
    if not (sparse.peak_mb and dense.peak_mb and sparse.seconds and dense.seconds):
        raise SystemExit("nothing to compare: one of the two needs too much memory")
    return sparse.peak_mb / dense.peak_mb, sparse.seconds / dense.seconds


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--network", default="minilm", choices=NETWORKS, help="shape of the network")
    parser.add_argument("--most-gb", type=float, help="skip what needs more memory; by default half of what is free")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each loss")
    parser.add_argument("--step-rounds", type=int, default=3, help="rounds of each step")
    options = parser.parse_args()
    max_bytes = free_bytes(options.device) / 2 if options.most_gb is None else options.most_gb * 1e9
    console = wide_console()
    rows: list[Row] = []
    for batch in track(BATCHES, "the loss alone"):
        rows += measure([Work(form, batch, options.device) for form in VARIANTS], options.rounds, max_bytes)
    show(rows, f"the loss alone, on {options.device}", {}, console)
    steps: list[Row] = []
    for batch in track(BATCHES, f"training steps of {options.network}"):
        works = [Work(form, batch, options.device, options.network) for form in VARIANTS if form != "gathered"]
        steps += measure(works, options.step_rounds, max_bytes)
    show(steps, f"a training step of {options.network}, on {options.device}", PAPER, console)
    save_results("training", {"loss": [asdict(row) for row in rows], "step": [asdict(row) for row in steps]})
    memory, seconds = shares(rows)
    console.print(f"in the largest batch, the sparse loss takes {memory:.2f} of the memory of the dense one")
    console.print(f"by matrix product, and {seconds:.2f} of its time")
    if memory > MAX_MEMORY or seconds > MAX_TIME:
        raise SystemExit(f"the limits are {MAX_MEMORY:.2f} of the memory and {MAX_TIME:.2f} of the time")


if __name__ == "__main__":
    main()
