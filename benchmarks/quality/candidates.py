"""How many of the best documents by tokens are among the candidates nearest by vector?

    python -m benchmarks.quality.candidates --data "$SEMBLANCE_DATA"

A search by `rcmd` scores only the candidates that are nearest by vector. For each query of some search collections this
scores all documents by `rcmd`, and prints the share of the ten best that are among the 50, 100 and 200 nearest by
`cosine`: its mean over the queries, and the share of queries for which it is 1. Long documents are truncated by the
model. It takes minutes, mostly for encoding. It fails if the mean recall with the default number of candidates is below
0.9 for any model and collection.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.models.alignment.pairwise import score_all_pairs
from semblance.models.alignment.ragged import split_by_size
from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.registry import read_source
from semblance.service.usecases.search.params import DEFAULT_CANDIDATES
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_retrieval
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SETS = ("cranfield", "medline", "cisi", "nfcorpus_dev")
BEST = 10
MIN_RECALL = 0.9  # with the default number of candidates, the smallest of CANDIDATES that has it everywhere
CANDIDATES = (50, DEFAULT_CANDIDATES, 200)
BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Row:
    """Mean recall with a number of candidates, and share of queries with recall 1 (`complete`)."""

    model: str
    collection: str
    documents: int
    queries: int
    candidates: int
    recall: float
    complete: float


def rows(encoder: Encoder, collection: str, task: Retrieval) -> list[Row]:
    """One row for each number of candidates."""
    by_tokens, by_vector = scores(encoder, task)
    best = [set(np.argsort(-row, kind="stable")[:BEST].tolist()) for row in by_tokens]
    near = np.argsort(-by_vector, kind="stable", axis=1)
    size = encoder.name, collection, near.shape[1], len(near)
    results: list[Row] = []
    for count in CANDIDATES:
        shares = [len(best[i] & set(near[i, :count].tolist())) / len(best[i]) for i in range(len(near))]
        results.append(Row(*size, count, fmean(shares), fmean(share == 1 for share in shares)))
    return results


def scores(encoder: Encoder, task: Retrieval) -> tuple[Doubles, Doubles]:
    """(queries, documents) scores by `rcmd` and by `cosine`, one batch of documents at a time."""
    queries = encoder.encode(encoder.tokenize(list(task.queries.values()), "query", "END"), "tokens")
    texts = sorted(encoder.tokenize(list(task.corpus.values()), "document", "END"), key=len)
    by_tokens, by_vector = (np.empty((len(queries), len(texts))) for _ in range(2))
    for batch in track(list(split_by_size([len(text) for text in texts], BATCH_TOKENS)), "encoding and scoring"):
        documents = encoder.encode(texts[batch], "tokens")
        by_tokens[:, batch] = score_all_pairs(similarity("rcmd"), queries, documents)
        by_vector[:, batch] = score_all_pairs(similarity("cosine"), queries, documents)
    return by_tokens, by_vector


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each number of candidates."""
    title = f"the {BEST} best of all documents by rcmd, among candidates nearest by vector"
    table = Table("model", "collection", "documents", "queries", "candidates", "recall", "all ten", title=title)
    for row in results:
        counts = (f"{count:,}" for count in (row.documents, row.queries, row.candidates))
        table.add_row(row.model, row.collection, *counts, f"{row.recall:.4f}", f"{row.complete:.1%}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with the collections, as for semblance evaluate"
    )
    parser.add_argument("--sets", nargs="+", default=SETS, help="search collections of semblance evaluate")
    parser.add_argument("--models", nargs="+", default=list(BUILT_IN), help="built-in names, or folders")
    options = parser.parse_args()
    console = wide_console()
    results: list[Row] = []
    for model in options.models:
        encoder = read_source(model).load(model, Compute())
        for name in options.sets:
            results += rows(encoder, name, read_retrieval(options.data / data_set(name).files[0]))
            show(results[-len(CANDIDATES) :], console)
    save_results("candidates", [asdict(row) for row in results])
    worst = min((row for row in results if row.candidates == DEFAULT_CANDIDATES), key=lambda row: row.recall)
    if worst.recall < MIN_RECALL:
        raise SystemExit(f"recall {worst.recall:.4f} by {worst.model} on {worst.collection} is below {MIN_RECALL}")


if __name__ == "__main__":
    main()
