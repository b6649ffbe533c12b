"""Are documents ranked by their kept sentences as they are by all of them?

    python -m benchmarks.quality.search.kept_rankings --data "$SEMBLANCE_DATA"

takes the first 50 queries of CISI, and the 20 documents nearest to each among those that are judged for any of them. A
running service prunes each document alone, by several shares of the score, and ranks the documents by the cosine of the
query and what is kept. Printed are the share of the tokens that is kept, and by how much nDCG@10 is above that of the
whole documents, with 95 % intervals (BCa bootstrap over the queries). Beside it are, with as many tokens of each
document at most, its first sentences. NFCorpus comes without full stops, so that each of its documents is one sentence.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client, Pruned

from semblance.models.embeddings import Doubles
from semblance.models.judgments.bootstrap import bca
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_retrieval
from semblance_lab.evaluation.statistics import ndcg_of_scores
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

SET = "cisi"
SHARES = (0.9, 0.98, 1.0)  # of the score
CANDIDATES, RANKS = 20, 10
WAYS = ("kept sentences", "first sentences")


class Shortened(NamedTuple):
    """What is left of a document: by each way its text, and the share of its tokens that is kept."""

    texts: tuple[str, str]
    tokens: float


@dataclass(frozen=True, slots=True)
class Row:
    """nDCG of whole documents and of shortened ones, in percent, and the difference, in percentage points."""

    way: str
    score: float
    tokens: float
    whole: float
    ndcg: float
    ahead: float
    low: float
    high: float


def shortened(text: str, pruned: Pruned) -> Shortened:
    """The kept sentences of a document, and the first ones that have as many tokens."""
    [document] = pruned.documents
    first, room = [], pruned.kept_tokens
    for each in sorted([*document.kept, *document.dropped], key=lambda part: part.start):
        if each.tokens <= room:
            first.append(text[each.start : each.end])
            room -= each.tokens
    kept = " ".join(each.text for each in document.kept)
    return Shortened((kept or text, " ".join(first) or text), pruned.kept_tokens / max(1, pruned.tokens))


def measure(client: Client, task: Retrieval, queries: int) -> Iterator[Row]:
    """A row for each share of the score, and each way to shorten."""
    chosen = list(task.queries)[:queries]
    pool = sorted({doc_id for each in chosen for doc_id in task.relevance[each]})
    near = [nearest(client, task, query, pool) for query in track(chosen, "searching", transient=True)]
    pairs = list(zip(chosen, near, strict=True))
    whole = np.array([gain(client, task, query, own, [task.corpus[each] for each in own]) for query, own in pairs])
    for share in SHARES:
        short = [
            [_shortened(client, task.queries[query], task.corpus[each], share) for each in own]
            for query, own in track(pairs, f"pruning to {share}", transient=True)
        ]
        tokens = float(np.mean([each.tokens for own in short for each in own]))
        for number, way in enumerate(WAYS):
            texts = [[each.texts[number] for each in own] for own in short]
            found = [gain(client, task, *pair, own) for pair, own in zip(pairs, texts, strict=True)]
            yield row(way, share, tokens, whole, np.array(found))


def nearest(client: Client, task: Retrieval, query: str, pool: Sequence[str]) -> list[str]:
    """Ids of the documents of the pool that are nearest to a query."""
    cosines = _cosines(client, task.queries[query], [task.corpus[each] for each in pool])
    return [pool[i] for i in np.argsort(-cosines, kind="stable")[:CANDIDATES].tolist()]


def gain(client: Client, task: Retrieval, query: str, ids: Sequence[str], texts: Sequence[str]) -> float:
    """nDCG@10 of documents that are ranked by these texts."""
    relevance = np.array([task.relevance[query].get(each, 0.0) for each in ids])
    return ndcg_of_scores(_cosines(client, task.queries[query], texts), relevance, RANKS)


def row(way: str, share: float, tokens: float, whole: Doubles, found: Doubles) -> Row:
    """Means over the queries, and the interval of their difference."""
    ahead = bca(lambda counts: (counts @ (found - whole)) / counts.sum(axis=-1), len(whole))
    means = (100 * float(whole.mean()), 100 * float(found.mean()))
    return Row(way, 100 * share, 100 * tokens, *means, 100 * ahead.estimate, 100 * ahead.low, 100 * ahead.high)


def _shortened(client: Client, query: str, text: str, share: float) -> Shortened:
    return shortened(text, client.prune(query, [text], share=share))


def _cosines(client: Client, query: str, texts: Sequence[str]) -> Doubles:
    return np.array(client.similarity_matrix([query], texts).scores[0])


def show(rows: Sequence[Row], console: Console) -> None:
    """Print a table of the rows."""
    names = ("ranked by", "score", "tokens", "nDCG@10", "of whole documents", "difference", "95 % interval")
    table = Table(*names, title=f"rankings of {SET} by shortened documents, in percent")
    for each in rows:
        interval = f"{each.low:+.1f} to {each.high:+.1f}"
        cells = (f"{each.tokens:.1f}", f"{each.ndcg:.1f}", f"{each.whole:.1f}", f"{each.ahead:+.1f}", interval)
        table.add_row(each.way, f"{each.score:.0f}", *cells)
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets, as for semblance evaluate")
    parser.add_argument("--queries", type=int, default=50, help="number of queries")
    options = parser.parse_args()
    task = read_retrieval(options.data / data_set(SET).files[0])
    with running_service() as url, Client(url, timeout_s=600) as client:
        rows = list(measure(client, task, options.queries))
    show(rows, wide_console())
    save_results("kept_rankings", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
