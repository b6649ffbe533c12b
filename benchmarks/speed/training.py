"""How much memory and time does training by RCMD take?

    python -m benchmarks.speed.training
    python -m benchmarks.speed.training --device cuda --network bert-base

prints the peak memory and the median time of forward and backward pass, in each form that RCMD of all pairs of a batch
can take (tests/support/pairwise_forms.py): for the loss alone, over random vectors in 384 dimensions, and for whole
training steps (network, loss, backward, optimizer) of a network of random weights, beside the paper's figures for dense
and sparse. Each batch has so many anchors and twice as many candidates, of 32 tokens each. Memory is measured in a
process of its own, time with the forms in turn. On a GPU the network runs in float16, as the paper's.

A form is left out where it wants more memory than there is. It fails where, in the largest batch, the sparse loss takes
more than a third of the memory of the dense one by a matrix product, or more than twice its time.
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

from semblance.models.training.in_batch import in_batch_cross_entropy
from semblance.models.training.pairwise_rcmd import TokenBatch
from tests.support.figures import keep
from tests.support.pairwise_forms import FORMS
from tests.support.peak_memory import PeakMemory, free_bytes, in_own_process
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
MOST_MEMORY, MOST_TIME = 1 / 3, 2.0  # of the sparse loss, as shares of the dense one's

Run: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Work:
    """The loss alone in one of its forms, or a training step where a network is named."""

    form: str
    batch: int
    device: str
    network: str | None = None

    def prepared(self) -> Run:
        """A function that does it once, over the same data every time."""
        return self._loss() if self.network is None else self._step(NETWORKS[self.network])

    def _loss(self) -> Run:
        generator = torch.Generator().manual_seed(0)
        vectors = torch.randn(3 * self.batch, TOKENS, DIM, generator=generator).to(self.device)
        anchors, candidates = (part.clone().requires_grad_() for part in vectors.tensor_split([self.batch]))

        def run() -> None:
            anchors.grad = candidates.grad = None
            self._of(anchors, candidates).backward()  # type: ignore[no-untyped-call]

        return run

    def _step(self, config: BertConfig) -> Run:
        torch.manual_seed(0)
        network = BertModel(config).to(self.device).train()  # type: ignore[arg-type] # to() is decorated in vain
        optimizer = torch.optim.AdamW(network.parameters(), lr=5e-5)
        ids = torch.randint(1000, config.vocab_size, (3 * self.batch, TOKENS), device=self.device)

        def run() -> None:
            with torch.autocast(self.device, torch.float16, enabled=self.device != "cpu"):
                vectors = network(ids).last_hidden_state
            loss = self._of(*vectors.float().tensor_split([self.batch]))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()

        return run

    def _of(self, anchors: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        x, y = (TokenBatch(each, each.new_ones(each.shape[:2], dtype=torch.bool)) for each in (anchors, candidates))
        return in_batch_cross_entropy([FORMS[self.form](x, y)], SCALE)

    def rough_bytes(self) -> int:
        """Bytes of the tensors that it holds at once, roughly: those of the size of its largest one."""
        dim = DIM if self.network is None else NETWORKS[self.network].hidden_size
        copies, entries = {
            "broadcast dense": (6, TOKENS * TOKENS * dim),
            "gathered": (2, 2 * TOKENS * dim),
        }.get(self.form, (3, TOKENS * TOKENS))
        return copies * 4 * 2 * self.batch**2 * entries


@dataclass(frozen=True, slots=True)
class Row:
    """What one piece of work took; nothing where it was too large."""

    form: str
    batch: int
    network: str | None
    peak_mb: float | None = None
    seconds: float | None = None


def measured(works: Sequence[Work], rounds: int, most_bytes: float) -> Iterator[Row]:
    """Forms of the same work."""
    small = [work for work in works if work.rough_bytes() <= most_bytes]
    peaks = {work.form: in_own_process(partial(peak_bytes, work)) / 1e6 for work in small}
    seconds = median_seconds(small, rounds)
    for work in works:
        yield Row(work.form, work.batch, work.network, peaks.get(work.form), seconds.get(work.form))


def peak_bytes(work: Work) -> int:
    """The most memory that it takes; for a loss beyond its vectors, for a step the network included."""
    replace(work, batch=2).prepared()()  # what torch loads and allots on its first use does not count
    before = PeakMemory(work.device)
    run = work.prepared()
    peak = PeakMemory(work.device) if work.network is None else before
    for _ in range(2):  # an optimizer allots on its first step what it needs from the second on
        run()
    return peak.bytes()


def median_seconds(works: Sequence[Work], rounds: int) -> dict[str, float]:
    """Form -> seconds of the median round; in turn, so that none has the quieter time."""
    runs = {work.form: work.prepared() for work in works}
    times: dict[str, list[float]] = {form: [] for form in runs}
    for _ in range(rounds + 1):
        for work in works:
            began = time.perf_counter()
            runs[work.form]()
            if work.device != "cpu":
                torch.cuda.synchronize()
            times[work.form].append(time.perf_counter() - began)
    return {form: median(took[1:]) for form, took in times.items()}


def show(rows: Sequence[Row], title: str, more: Mapping[str, Sequence[str]], console: Console) -> None:
    """A line a form, a column a batch."""
    table = Table("form", *(f"batch {batch}" for batch in dict.fromkeys(row.batch for row in rows)), title=title)
    for form in dict.fromkeys(row.form for row in rows):
        table.add_row(form, *(_cell(row) for row in rows if row.form == form))
    for name, figures in more.items():
        table.add_row(name, *figures)
    console.print(table)


def _cell(row: Row) -> str:
    return "too large" if row.peak_mb is None else f"{row.peak_mb:,.0f} MB, {1000 * (row.seconds or 0):,.0f} ms"


def shares(rows: Sequence[Row]) -> tuple[float, float]:
    """Memory and time of the sparse loss in its largest batch, as shares of the dense one's by a matrix product."""
    last = {row.form: row for row in rows if row.network is None and row.batch == rows[-1].batch}
    sparse, dense = last["sparse"], last["matmul dense"]
    if not (sparse.peak_mb and dense.peak_mb and sparse.seconds and dense.seconds):
        raise SystemExit("nothing to compare: one of the two was left out as too large")
    return sparse.peak_mb / dense.peak_mb, sparse.seconds / dense.seconds


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--network", default="minilm", choices=NETWORKS, help="shape of the network of the steps")
    parser.add_argument("--most-gb", type=float, help="leave out what takes more; by default half of what is free")
    parser.add_argument("--rounds", type=int, default=5, help="how often each loss is timed")
    parser.add_argument("--step-rounds", type=int, default=3, help="how often each step is timed")
    given = parser.parse_args()
    most_bytes = free_bytes(given.device) / 2 if given.most_gb is None else given.most_gb * 1e9
    console = wide_console()
    rows: list[Row] = []
    for batch in track(BATCHES, "the loss alone"):
        rows += measured([Work(form, batch, given.device) for form in FORMS], given.rounds, most_bytes)
    show(rows, f"the loss alone, on {given.device}", {}, console)
    steps: list[Row] = []
    for batch in track(BATCHES, f"training steps of {given.network}"):
        works = [Work(form, batch, given.device, given.network) for form in FORMS if form != "gathered"]
        steps += measured(works, given.step_rounds, most_bytes)
    show(steps, f"a training step of {given.network}, on {given.device}", PAPER, console)
    keep("training", {"loss": [asdict(row) for row in rows], "step": [asdict(row) for row in steps]})
    memory, seconds = shares(rows)
    console.print(f"the sparse loss takes {memory:.2f} of the memory of the dense one by a matrix product,")
    console.print(f"and {seconds:.2f} of its time, in the largest batch")
    if memory > MOST_MEMORY or seconds > MOST_TIME:
        raise SystemExit("that is too much")


if __name__ == "__main__":
    main()
