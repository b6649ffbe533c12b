"""How much faster than Origin is its surrogate?

    python -m benchmarks.speed.surrogate_speed runs/origin runs/surrogate --rows runs/pairs/test.tsv

prints how many pairs per second each scores, alternating over parts of the same pairs: Origin finds contexts for each
new sentence, and the surrogate encodes each sentence, in batches of sentences of similar length.
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
from semblance.models.files.tables import read_tsv
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from semblance_lab.origin.scoring.origin import Origin
from tests.support.results import save_results
from tests.support.wide_console import wide_console

ROUNDS = 5
BATCH_TEXTS = 64
REPEATS = 100  # of the surrogate for each run of Origin; otherwise it is too fast to time


@dataclass(frozen=True, slots=True)
class Rates:
    """Pairs per second, and the ratio of the surrogate's rate to Origin's in the median part."""

    pairs: int
    origin: float
    surrogate: float
    ratio: float


def measure(origin: Origin, surrogate: Encoder, pairs: Sequence[tuple[str, str]]) -> Rates:
    """Measure both on the same parts of the pairs, alternately."""
    parts = [pairs[start::ROUNDS] for start in range(ROUNDS)]
    _score(surrogate, pairs[:BATCH_TEXTS])  # warm-up
    origin_s, surrogate_s = [], []
    for part in track(parts, "parts of the pairs"):
        left, right = ([pair[side] for pair in part] for side in (0, 1))
        origin_s.append(_seconds(partial(origin.similarities, left, right)) / len(part))
        surrogate_s.append(_seconds(partial(_score, surrogate, list(part) * REPEATS)) / len(part) / REPEATS)
    ratios = [one / other for one, other in zip(origin_s, surrogate_s, strict=True)]
    return Rates(len(pairs), 1 / median(origin_s), 1 / median(surrogate_s), median(ratios))


def _score(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> None:
    cosine = catalogue.similarity("cosine")
    texts = [text for pair in pairs for text in pair]
    by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    embeddings: dict[int, TokenEmbeddings] = {}
    for start in range(0, len(texts), BATCH_TEXTS):
        batch = by_length[start : start + BATCH_TEXTS]
        tokenized = encoder.tokenize([texts[i] for i in batch], "query", "END")
        embeddings |= zip(batch, encoder.encode(tokenized, catalogue.required_vectors(cosine)), strict=True)
    for left in range(0, len(texts), 2):
        cosine.score(embeddings[left], embeddings[left + 1])


def _seconds(work: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("origin", type=Path, help="folder of Origin")
    parser.add_argument("surrogate", help="model, as for `semblance serve`")
    parser.add_argument("--rows", type=Path, required=True, help="table with the columns sentence1 and sentence2")
    parser.add_argument("--pairs", type=int, default=50, help="number of pairs")
    options = parser.parse_args()
    rows = read_tsv(options.rows, ("sentence1", "sentence2"))
    all_pairs = [(row.text("sentence1"), row.text("sentence2")) for row in rows]
    step = max(1, len(all_pairs) // options.pairs)  # spread over the table, because adjacent rows share sentences
    surrogate = read_source(options.surrogate).load("surrogate", Compute())
    rates = measure(Origin.open(options.origin), surrogate, all_pairs[::step][: options.pairs])
    grid = Table("pairs", "Origin, pairs/s", "surrogate, pairs/s", "ratio", title="pairs scored per second")
    grid.add_row(str(rates.pairs), f"{rates.origin:.3f}", f"{rates.surrogate:,.0f}", f"{rates.ratio:,.0f}")
    wide_console().print(grid)
    save_results("surrogate_speed", asdict(rates))


if __name__ == "__main__":
    main()
