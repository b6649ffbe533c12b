"""Is a sentence in a long text found, by how the text is read?

    python -m benchmarks.quality.long_texts --data "$SEMBLANCE_DATA"

plants one of two sentences that people call the same question (QQP) in each chunk of a book, at the end of a random
sentence, and searches for it by the other one, by the cosine of the vectors of POST /v1/embeddings. Chunks are read in
passages, truncated at 256 tokens, and truncated at 512. It prints recall@10 of the chunks, with the share of questions
that stand beyond 256 tokens, and the milliseconds a chunk of one request at a time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from semblance_client import Client

from semblance.models.embeddings import Floats
from semblance.models.judgments.pairs import LabeledPairs
from semblance_lab.evaluation.datasets import data_set
from tests.support.results import save_results
from tests.support.running_service import running_service

CHARS = (500, 1000, 4000)
CHUNKS = 300
K = 10
BATCH = 16  # texts of a request
LONGER = "longer"
WAYS = (("PASSAGES", "minilm-words"), ("END", "minilm-words"), ("END", LONGER))  # of reading, with the model


@dataclass(frozen=True, slots=True)
class Row:
    """Recall@10 of questions planted in chunks of some length, read in one way."""

    chars: int
    truncate: str
    model: str
    recall: float
    ms_per_chunk: float


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmark data (docs/measures.md)")
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    arguments = parser.parse_args()
    models = f"minilm-words,{LONGER}=minilm-words?max_tokens=512"
    with running_service(models=models, cache="none") as url, Client(url, timeout_s=600) as client:
        rows = [row for chars in CHARS for row in measure(client, arguments.data, chars, arguments.chunks)]
    save_results("long_texts", [asdict(row) for row in rows])
    show(rows)


def measure(client: Client, data: Path, chars: int, count: int) -> list[Row]:
    """The rows of one length of chunks."""
    random.seed(0)
    questions = same_questions(data)[:count]
    chunks = [plant(chunk, question) for chunk, (question, _) in zip(book_chunks(data, chars), questions, strict=False)]
    rows = []
    for truncate, model in WAYS:
        began = time.perf_counter()
        found = embedded(client, chunks, model, truncate)
        elapsed = time.perf_counter() - began
        scores = embedded(client, [query for _, query in questions[: len(chunks)]], model, truncate) @ found.T
        ranks = (scores > np.diagonal(scores)[:, None]).sum(axis=1)
        rows.append(Row(chars, truncate, model, float((ranks < K).mean()), 1000 * elapsed / len(chunks)))
    return rows


def same_questions(data: Path) -> list[tuple[str, str]]:
    """Pairs of questions that people call the same, in random order."""
    known = data_set("qqp_dev")
    pairs = known.read(data / known.files[0])
    assert isinstance(pairs, LabeledPairs)
    same = [pair for pair, match in zip(zip(pairs.left, pairs.right, strict=True), pairs.matches, strict=True) if match]
    return random.sample(same, len(same))


def book_chunks(data: Path, chars: int) -> list[str]:
    """Consecutive parts of books, some `chars` long, that end with a sentence."""
    lines = (json.loads(line) for line in (data / "text" / "gutenberg.jsonl").read_text("utf-8").splitlines())
    chunks, chunk = [], ""
    for line in lines:
        for sentence in re.split(r"(?<=[.!?]) ", line["text"]):
            if len(chunk) + len(sentence) > chars:
                chunks.append(chunk)
                chunk = ""
            chunk += sentence + " "
    whole = [chunk for chunk in chunks if 0.8 * chars < len(chunk) <= chars]
    return random.sample(whole, len(whole))


def plant(chunk: str, question: str) -> str:
    """The chunk with the question after one of its sentences."""
    ends = [match.end() for match in re.finditer(r"[.!?] ", chunk)] or [len(chunk)]
    at = random.choice(ends)
    return f"{chunk[:at]}{question} {chunk[at:]}"


def embedded(client: Client, texts: Sequence[str], model: str, truncate: str) -> Floats:
    """(n, d) unit vectors."""
    rest = iter(texts)
    batches = iter(lambda: list(islice(rest, BATCH)), [])
    vectors = [client.embed(batch, model, truncate=truncate).vectors for batch in batches]  # type: ignore[arg-type]
    return np.concatenate([np.array(rows, np.float32) for rows in vectors])


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table("characters", "truncate", "model", "recall@10 %", "ms a chunk")
    for row in rows:
        table.add_row(f"{row.chars:,}", row.truncate, row.model, f"{100 * row.recall:.1f}", f"{row.ms_per_chunk:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
