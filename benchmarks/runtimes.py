"""Which runtime is the fastest on this CPU, and which of them keep a text's vectors whatever stands beside it?

    python -m benchmarks.runtimes

encodes sentences of STS-B (of $SEMBLANCE_DATA) by the built-in model without an adapter in every way that is served,
and in some that were tried beside them: in batches of 32 by length, and one at a time, in turn. It prints the medians
of sentences a second, the least cosine of a token's vector to that of torch in float32, and the least cosine of a
token, and of a text, alone and in a batch, which may not fall below 0.9998 and 0.9999. `semblance evaluate
--conditions` tells what the served one does to the figures of the seven STS sets.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.candidate_runtimes import Candidate, candidates
from benchmarks.figures import keep
from benchmarks.peers.sentences import sentences
from models import catalogue
from models.checkpoint import Checkpoint, read_checkpoint
from models.embeddings import Floats, unit_rows
from models.encoders.transformer import Transformer
from models.runtime import RUNTIMES, Compute, Precision
from models.text import Ints
from service.served_models import read_source

BATCH = 32
ALONE = 300  # sentences that are also encoded one at a time
SERVED: Sequence[tuple[str, Precision]] = [
    ("torch", "float32"),
    ("torch", "bfloat16"),
    ("openvino", "float32"),
    ("openvino", "bfloat16"),
]
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


def ways(checkpoint: Checkpoint, folder: Path) -> Mapping[str, Callable[[], Candidate]]:
    """What makes each of them, those that are served first."""

    def served(runtime: str, precision: Precision) -> Candidate:
        made = catalogue.find(RUNTIMES, runtime)(checkpoint, Compute("cpu", precision, runtime))
        return lambda ids: made.run(ids, [np.ones(len(text), np.float32) for text in ids], "tokens").vectors

    known = {f"{runtime} {precision}": (runtime, precision) for runtime, precision in SERVED}
    mine = {name: (lambda way=way: served(*way)) for name, way in known.items()}
    return {**mine, **candidates(checkpoint, folder)}


def measure(made: Mapping[str, Candidate], ids: Sequence[Ints], rounds: int) -> Iterator[Row]:
    """All of them, a round of each in turn."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    batches = [[ids[i] for i in order[start : start + BATCH]] for start in range(0, len(order), BATCH)]
    few = [[text] for text in ids[:ALONE]]
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    for _ in track(range(rounds), "rounds"):
        for name, run in made.items():
            rates[name].append((_rate(run, batches), _rate(run, few)))
    truth = [made["torch float32"](batch) for batch in few]
    mixed = [list(ids[start : start + BATCH]) for start in range(0, ALONE, BATCH)]
    for name, run in made.items():
        alone = [run(batch)[0] for batch in few]
        company = [each for batch in mixed for each in run(batch)][: len(few)]
        by_batches, one_by_one = zip(*rates[name], strict=True)
        yield Row(
            name,
            median(by_batches),
            median(one_by_one),
            min(_cosine(a, b[0]) for a, b in zip(alone, truth, strict=True)),
            min(_cosine(a, b) for a, b in zip(alone, company, strict=True)),
            min(_cosine(a.mean(0), b.mean(0)) for a, b in zip(alone, company, strict=True)),
        )


def _rate(run: Candidate, batches: Sequence[Sequence[Ints]]) -> float:
    """Texts a second."""
    began = time.perf_counter()
    for batch in batches:
        run(batch)
    return sum(map(len, batches)) / (time.perf_counter() - began)


def _cosine(a: Floats, b: Floats) -> float:
    return float((unit_rows(a) * unit_rows(b)).sum(axis=-1).min())


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
    checkpoint = read_checkpoint(read_source("minilm").location)
    texts = sentences()[: asked.sentences]
    ids = [text.ids for text in Transformer("minilm", checkpoint).tokenize(texts, "query", "END")]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        makers = ways(checkpoint, Path(folder))
        chosen = [name for name in makers if not asked.only or name.startswith(("torch float32", *asked.only))]
        made = {name: makers[name]() for name in track(chosen, "making ready")}
        rows = list(measure(made, ids, asked.rounds))
    show(rows, len(ids), float(np.mean([len(text) for text in ids])), Console(width=120))
    keep("runtimes", [shown(row) for row in rows])


if __name__ == "__main__":
    main()
