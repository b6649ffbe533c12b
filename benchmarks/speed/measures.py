"""How fast is each measure?

    python -m benchmarks.speed.measures

prints how many pairs of texts per second each measure scores, for random token vectors and several numbers of tokens,
beside a plain implementation of its formula (tests/support/plain_measures.py). Then it compares `rcmd` with `cosine` on
random texts, including the time to encode them by the built-in model: the paper finds no difference up to 48 tokens.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.text import TokenizedText
from semblance.service.model_loading.registry import read_source
from tests.support.plain_measures import ORACLES
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.wide_console import wide_console

TOKENS = (8, 16, 32, 48, 64, 128)
DIM = 384  # of the built-in model
TRIAL_S = 0.2  # minimum duration of a measurement
BATCH_PAIRS = 16
PAPER_TOKENS = 48  # length up to which the paper finds no difference


@dataclass(frozen=True, slots=True)
class Rate:
    """Pairs per second of a measure, and of its oracle if there is one."""

    measure: str
    tokens: int
    pairs_per_s: float
    oracle_pairs_per_s: float | None


@dataclass(frozen=True, slots=True)
class CosineComparison:
    """Seconds to encode and score pairs by either measure, and their median ratio."""

    tokens: int
    pairs: int
    cosine_s: float
    rcmd_s: float
    ratio: float


def random_embeddings(rng: np.random.Generator, n: int) -> TokenEmbeddings:
    """Random vectors of a text with n tokens, the first and the last of which are special."""
    numbers = np.arange(n, dtype=np.int32)
    words = np.where((numbers == 0) | (numbers == n - 1), -1, numbers).astype(np.int32)
    spans = np.where(words[:, None] < 0, 0, np.stack((2 * numbers, 2 * numbers + 1), axis=1)).astype(np.int32)
    text = TokenizedText("w " * n, numbers, spans, words)
    vectors = rng.normal(size=(n, DIM)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(n, np.float32), text, pooled_vector=vectors.mean(axis=0))


def rates() -> Iterator[Rate]:
    """Rates of all measures at all numbers of tokens."""
    rng = np.random.default_rng(0)
    pairs = {n: [(random_embeddings(rng, n), random_embeddings(rng, n)) for _ in range(8)] for n in TOKENS}
    for name in track(catalogue.names(catalogue.MEASURES), "measures"):
        oracle = ORACLES.get(name)
        for n in TOKENS:
            fast = _rate(catalogue.similarity(name).score, pairs[n])
            yield Rate(name, n, fast, _rate(oracle, pairs[n]) if oracle else None)


def _rate(
    score: Callable[[TokenEmbeddings, TokenEmbeddings], float], pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]
) -> float:
    score(*pairs[0])  # warm-up
    start_s, count = time.perf_counter(), 0
    while (seconds := time.perf_counter() - start_s) < TRIAL_S:
        score(*pairs[count % len(pairs)])
        count += 1
    return count / seconds


def compare_with_cosine(encoder: Encoder, tokens: int, pairs: int) -> CosineComparison:
    """Time both measures on the same pairs, alternating by batch."""
    texts = random_texts(encoder, tokens, 2 * pairs)
    times: dict[str, list[float]] = {"cosine": [], "rcmd": []}
    for start in range(0, len(texts), 2 * BATCH_PAIRS):
        batch = texts[start : start + 2 * BATCH_PAIRS]
        for name in sorted(times, reverse=len(times["rcmd"]) % 2 == 1):
            times[name].append(_encode_and_score(encoder, name, batch))
    ratio = median(slow / fast for fast, slow in zip(times["cosine"], times["rcmd"], strict=True))
    return CosineComparison(tokens, pairs, sum(times["cosine"]), sum(times["rcmd"]), ratio)


def _encode_and_score(encoder: Encoder, name: str, texts: Sequence[str]) -> float:
    """Seconds to encode the texts and score their pairs."""
    similarity = catalogue.similarity(name)
    start_s = time.perf_counter()
    embeddings = encoder.encode(encoder.tokenize(texts, "query", "END"), catalogue.required_vectors(similarity))
    half = len(texts) // 2
    for a, b in zip(embeddings[:half], embeddings[half:], strict=True):
        similarity.score(a, b)
    return time.perf_counter() - start_s


def random_texts(encoder: Encoder, tokens: int, count: int) -> list[str]:
    """Texts of exactly `tokens` tokens, made of random words with one token each."""
    sample = (PROJECT / "service" / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    words = sorted({word for line in sample for word in json.loads(line)["text"].split() if word.isalpha()})
    single = [word for word, text in zip(words, encoder.tokenize(words, "query", "END"), strict=True) if len(text) == 3]
    rng = random.Random(tokens)
    return [" ".join(rng.choices(single, k=tokens - 2)) for _ in range(count)]


def show(rows: Sequence[Rate], compared: Sequence[CosineComparison], console: Console) -> None:
    """Print the rates and the comparison."""
    speed = Table("measure", *(f"{n} tokens" for n in TOKENS), title="pairs per second")
    by_name = {(row.measure, row.tokens): row for row in rows}
    for name in dict.fromkeys(row.measure for row in rows):
        of_name = [by_name[name, n] for n in TOKENS]
        speed.add_row(name, *(f"{row.pairs_per_s:,.0f}" for row in of_name))
        oracles = [row.oracle_pairs_per_s for row in of_name]
        speed.add_row("  plain formula", *("" if rate is None else f"{rate:,.0f}" for rate in oracles))
    console.print(speed)
    gap = Table(
        "tokens", "pairs", "cosine, s", "rcmd, s", "ratio", title="seconds to encode by the built-in model and score"
    )
    for line in compared:
        figures = (f"{line.cosine_s:.2f}", f"{line.rcmd_s:.2f}", f"{line.ratio:.3f}")
        gap.add_row(str(line.tokens), str(line.pairs), *figures)
    console.print(gap)
    worst = max(line.ratio for line in compared if line.tokens <= PAPER_TOKENS)
    console.print(f"rcmd takes at most {worst:.3f} times as long as cosine for up to {PAPER_TOKENS} tokens")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=512, help="pairs to encode and score, as in the paper")
    pairs = parser.parse_args().pairs
    console = wide_console()
    rows = list(rates())
    encoder = read_source("minilm").load("minilm", Compute())
    compared = [compare_with_cosine(encoder, n, pairs) for n in track(TOKENS, "rcmd beside cosine")]
    show(rows, compared, console)
    save_results("measures", {"rates": [asdict(row) for row in rows], "beside": [asdict(line) for line in compared]})


if __name__ == "__main__":
    main()
