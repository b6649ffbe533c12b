"""How well does search find what people judged relevant?

    python -m benchmarks.retrieval $SEMBLANCE_DATA/ir/cranfield

reads corpus.jsonl, queries.jsonl and qrels.tsv of one or more folders, indexes the corpus into a fresh service over
HTTP, asks all judged queries, and prints nDCG@10 (linear gain) and recall@10 of each measure. Beside it stands the same
search done exhaustively by sentence-transformers, which `cosine` must equal.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.figures import keep
from benchmarks.running_service import running_service
from models.evaluation.ranking import ndcg, recall
from service.client import Client, Refused
from service.served_models import read_checkpoints
from service.settings import client_key

MEASURES = ("cosine", "rcmd", "rcmd1")
K = 10
CANDIDATES = 100
QUERIES_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class TestSet:
    """A corpus with queries, and what people judged: query -> document -> relevance."""

    name: str
    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    dataset: str
    measure: str
    ndcg_at_10: float
    recall_at_10: float
    scored_from: str
    queries_per_s: float


def read_test_set(folder: Path) -> TestSet:
    """The files of one folder; only queries with a relevant document count."""
    relevance: defaultdict[str, dict[str, float]] = defaultdict(dict)
    with (folder / "qrels.tsv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            relevance[row["query_id"]][row["doc_id"]] = float(row["relevance"])
    corpus = {row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in _lines(folder / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in _lines(folder / "queries.jsonl")}
    judged = {query_id: text for query_id, text in queries.items() if any(g > 0 for g in relevance[query_id].values())}
    return TestSet(folder.name, corpus, judged, relevance)


def index(client: Client, test_set: TestSet, tokens: str, console: Console) -> None:
    """Store the corpus in a collection of the test set's name."""
    client.ask("PUT", f"/collections/{test_set.name}", {"tokens": tokens})
    lines = [json.dumps({"id": doc_id, "text": text}).encode() for doc_id, text in test_set.corpus.items()]
    refused: list[Refused] = []
    began, stored = time.perf_counter(), 0
    for progress in client.index(test_set.name, track(lines, f"indexing {test_set.name}", console=console)):
        stored += progress.upserted
        refused += progress.refused
    rate = stored / (time.perf_counter() - began)
    reasons = ", ".join(sorted({fault.code for fault in refused})) or "none"
    console.print(
        f"{test_set.name}: {stored:,} documents stored, {len(refused)} refused ({reasons}), {rate:.0f} documents/s"
    )


def search(client: Client, test_set: TestSet, measure: str) -> Row:
    """Ask all queries by one measure."""
    rankings: dict[str, list[str]] = {}
    ids, texts = list(test_set.queries), list(test_set.queries.values())
    began, scored_from = time.perf_counter(), ""
    for start in range(0, len(ids), QUERIES_AT_ONCE):
        part = slice(start, start + QUERIES_AT_ONCE)
        body = {
            "queries": texts[part],
            "collection": test_set.name,
            "measure": measure,
            "k": K,
            "candidates": CANDIDATES,
        }
        answer = client.ask("POST", "/search", body)
        scored_from = answer["scored_from"]
        for query_id, result in zip(ids[part], answer["results"], strict=True):
            rankings[query_id] = [hit["id"] for hit in result["hits"]]
    seconds = time.perf_counter() - began
    return _row(test_set, measure, rankings, scored_from, len(ids) / seconds)


def exhaustive(test_set: TestSet) -> Row:
    """The same by sentence-transformers, over every document that has a text."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - an oracle; the service does without

    model = SentenceTransformer(str(read_checkpoints("minilm")["minilm"].location), device="cpu")
    ids = [doc_id for doc_id, text in test_set.corpus.items() if text.strip()]
    documents = model.encode([test_set.corpus[doc_id] for doc_id in ids], normalize_embeddings=True)
    began = time.perf_counter()
    queries = model.encode(list(test_set.queries.values()), normalize_embeddings=True)
    best = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :K]
    seconds = time.perf_counter() - began
    rankings = {query_id: [ids[i] for i in row] for query_id, row in zip(test_set.queries, best, strict=True)}
    return _row(test_set, "cosine", rankings, "sentence-transformers", len(rankings) / seconds)


def _row(test_set: TestSet, measure: str, rankings: Mapping[str, Sequence[str]], source: str, rate: float) -> Row:
    judged = [(rankings[query_id], test_set.relevance[query_id]) for query_id in test_set.queries]
    return Row(
        dataset=test_set.name,
        measure=measure,
        ndcg_at_10=fmean(ndcg(ranking, relevance, K) for ranking, relevance in judged),
        recall_at_10=fmean(recall(ranking, relevance, K) for ranking, relevance in judged),
        scored_from=source,
        queries_per_s=rate,
    )


def _lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folders", nargs="+", type=_folder, help="folders with corpus.jsonl, queries.jsonl and qrels.tsv"
    )
    parser.add_argument(
        "--tokens", default="int8", choices=("int8", "none"), help="whether collections keep token codes for rcmd"
    )
    parser.add_argument("--url", help="a running service; without it, one is started for the time of the run")
    arguments = parser.parse_args()
    console = Console()
    if arguments.url:
        rows = run(arguments.url, arguments.folders, arguments.tokens, console)
    else:
        with running_service() as url:
            rows = run(url, arguments.folders, arguments.tokens, console)
    table = Table("collection", "measure", "nDCG@10", "recall@10", "document vectors from", "queries/s")
    for row in rows:
        figures = (f"{row.ndcg_at_10:.4f}", f"{row.recall_at_10:.4f}", row.scored_from, f"{row.queries_per_s:.1f}")
        table.add_row(row.dataset, row.measure, *figures)
    console.print(table)
    keep("retrieval", [asdict(row) for row in rows])


def _folder(given: str) -> Path:
    folder = Path(given)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        if not (folder / name).is_file():
            raise argparse.ArgumentTypeError(f"{folder} has no {name}")
    return folder


def run(url: str, folders: Sequence[Path], tokens: str, console: Console) -> list[Row]:
    """All rows of all folders."""
    rows: list[Row] = []
    with Client(url, client_key()) as client:
        for test_set in map(read_test_set, folders):
            index(client, test_set, tokens, console)
            rows += [search(client, test_set, measure) for measure in MEASURES]
            rows.append(exhaustive(test_set))
    return rows


if __name__ == "__main__":
    main()
