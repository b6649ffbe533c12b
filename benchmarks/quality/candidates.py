"""How many of the documents nearest by their tokens are among those nearest by vector?

    python -m benchmarks.quality.candidates --data "$SEMBLANCE_DATA"

A search by `rcmd` scores only the candidates that are nearest by vector. For every query of some search collections
this scores all documents by `rcmd`, and prints which share of the ten best are among the 50, 100 and 200 nearest by
`cosine`, as a mean over the queries, and for which share of the queries all ten are. Documents are cut where the model
cuts them. It takes minutes, most of them to encode. It fails where of the ten fewer than nine are among as many
candidates as a search takes by default.
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

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles
from semblance.models.evaluation.datasets import data_set
from semblance.models.evaluation.datasets.retrieval import read
from semblance.models.evaluation.tasks import Retrieval
from semblance.models.measures.chunks import portions
from semblance.models.measures.pairwise import all_with_all
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.api.routes.search import DEFAULT_CANDIDATES
from semblance.service.model_loading.registry import BUILT_IN, read_source
from tests.support.figures import keep
from tests.support.wide_console import wide_console

SETS = ("cranfield", "medline", "cisi", "nfcorpus_dev")
BEST = 10
LEAST_RECALL = 0.9  # of the default, the least of these numbers that has it everywhere
CANDIDATES = (50, DEFAULT_CANDIDATES, 200)
BATCH_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Row:
    """What candidates of a number came to: the mean share of the best among them, and how often all of them are."""

    model: str
    collection: str
    documents: int
    queries: int
    candidates: int
    recall: float
    complete: float


def rows(encoder: Encoder, collection: str, task: Retrieval) -> list[Row]:
    """One for each number of candidates."""
    by_tokens, by_vector = scores(encoder, task)
    best = [set(np.argsort(-row, kind="stable")[:BEST].tolist()) for row in by_tokens]
    near = np.argsort(-by_vector, kind="stable", axis=1)
    size = encoder.name, collection, near.shape[1], len(near)
    found: list[Row] = []
    for count in CANDIDATES:
        shares = [len(best[i] & set(near[i, :count].tolist())) / len(best[i]) for i in range(len(near))]
        found.append(Row(*size, count, fmean(shares), fmean(share == 1 for share in shares)))
    return found


def scores(encoder: Encoder, task: Retrieval) -> tuple[Doubles, Doubles]:
    """(queries, documents) by `rcmd` and by `cosine`; the tokens of a batch of documents are held at a time."""
    queries = encoder.encode(encoder.tokenize(list(task.queries.values()), "query", "END"), "tokens")
    texts = sorted(encoder.tokenize(list(task.corpus.values()), "document", "END"), key=len)
    by_tokens, by_vector = (np.empty((len(queries), len(texts))) for _ in range(2))
    for some in track(list(portions([len(text) for text in texts], BATCH_TOKENS)), "encoding and scoring"):
        documents = encoder.encode(texts[some], "tokens")
        by_tokens[:, some] = all_with_all(similarity("rcmd"), queries, documents)
        by_vector[:, some] = all_with_all(similarity("cosine"), queries, documents)
    return by_tokens, by_vector


def show(found: Sequence[Row], console: Console) -> None:
    """A line for each number of candidates."""
    title = f"the {BEST} best of all documents by rcmd, among candidates nearest by vector"
    table = Table("model", "collection", "documents", "queries", "candidates", "recall", "all ten", title=title)
    for row in found:
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
    given = parser.parse_args()
    console = wide_console()
    found: list[Row] = []
    for model in given.models:
        encoder = read_source(model).load(model, Compute())
        for name in given.sets:
            found += rows(encoder, name, read(given.data / data_set(name).files[0]))
            show(found[-len(CANDIDATES) :], console)
    keep("candidates", [asdict(row) for row in found])
    worst = min((row for row in found if row.candidates == DEFAULT_CANDIDATES), key=lambda row: row.recall)
    if worst.recall < LEAST_RECALL:
        raise SystemExit(f"recall {worst.recall:.4f} by {worst.model} on {worst.collection}, less than {LEAST_RECALL}")


if __name__ == "__main__":
    main()
