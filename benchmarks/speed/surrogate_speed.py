"""How much faster than Origin is its surrogate?

    python -m benchmarks.speed.surrogate_speed runs/origin runs/surrogate --rows runs/pairs/test.tsv

prints how many pairs a second either scores, in turn over parts of the same pairs: Origin finds contexts for every
sentence that it has not met, and the surrogate encodes every sentence, in batches of sentences of like length.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

from rich.progress import track
from rich.table import Table

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.files.tables import table
from semblance.models.origin.scoring.origin import Origin
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from tests.support.figures import keep
from tests.support.wide_console import wide_console

ROUNDS = 5
BATCH_TEXTS = 64
AGAIN = 100  # times that the surrogate scores what Origin scores once: else it is done before a clock can tell


@dataclass(frozen=True, slots=True)
class Rates:
    """Pairs a second, and how many times those of Origin the surrogate scores in the median part."""

    pairs: int
    origin: float
    surrogate: float
    ratio: float


def measured(origin: Origin, surrogate: Encoder, pairs: Sequence[tuple[str, str]]) -> Rates:
    """Both over the same parts of the pairs, in turn."""
    parts = [pairs[start::ROUNDS] for start in range(ROUNDS)]
    _encoded(surrogate, pairs[:BATCH_TEXTS])  # what it loads on its first use does not count
    slow, fast = [], []
    for part in track(parts, "parts of the pairs"):
        left, right = ([pair[side] for pair in part] for side in (0, 1))
        slow.append(_seconds(partial(origin.similarities, left, right)) / len(part))
        fast.append(_seconds(partial(_encoded, surrogate, list(part) * AGAIN)) / len(part) / AGAIN)
    ratios = [one / other for one, other in zip(slow, fast, strict=True)]
    return Rates(len(pairs), 1 / median(slow), 1 / median(fast), median(ratios))


def _encoded(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> None:
    cosine = catalogue.similarity("cosine")
    texts = [text for pair in pairs for text in pair]
    by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    embeddings: dict[int, TokenEmbeddings] = {}
    for start in range(0, len(texts), BATCH_TEXTS):
        some = by_length[start : start + BATCH_TEXTS]
        tokenized = encoder.tokenize([texts[i] for i in some], "query", "END")
        embeddings |= zip(some, encoder.encode(tokenized, catalogue.wanted(cosine)), strict=True)
    for left in range(0, len(texts), 2):
        cosine.score(embeddings[left], embeddings[left + 1])


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("origin", type=Path, help="the origin folder")
    parser.add_argument("surrogate", help="the model, as `semblance serve` takes it")
    parser.add_argument("--rows", type=Path, required=True, help="pairs: a table with sentence1 and sentence2")
    parser.add_argument("--pairs", type=int, default=50, help="how many of them")
    asked = parser.parse_args()
    rows = table(asked.rows, ("sentence1", "sentence2"))
    every = [(row.text("sentence1"), row.text("sentence2")) for row in rows]
    step = max(1, len(every) // asked.pairs)  # spread over all: neighbours share sentences
    surrogate = read_source(asked.surrogate).load("surrogate", Compute())
    rates = measured(Origin.open(asked.origin), surrogate, every[::step][: asked.pairs])
    grid = Table("pairs", "Origin, pairs/s", "surrogate, pairs/s", "times", title="how fast pairs are scored")
    grid.add_row(str(rates.pairs), f"{rates.origin:.3f}", f"{rates.surrogate:,.0f}", f"{rates.ratio:,.0f}")
    wide_console().print(grid)
    keep("surrogate_speed", asdict(rates))


if __name__ == "__main__":
    main()
