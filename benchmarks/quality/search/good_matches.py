"""Does a search say when nothing answers the query?

    python -m benchmarks.quality.search.good_matches --data "$SEMBLANCE_DATA"

stores real collections in a service, and asks each the queries of its own and those of the others. Prints how often
`no_good_match` is said of either. Queries of collections about the same things are left out: of medicine (MEDLINE and
NFCorpus), of libraries (CISI and ADI), and of Wikipedia (WikiQA and XQuAD).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.quality.search.passage_length import collections_parser
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.running_service import running_process
from tests.support.wide_console import wide_console

ABOUT = {
    "cranfield": "flight",
    "medline": "medicine",
    "nfcorpus_dev": "medicine",
    "cisi": "libraries",
    "adi": "libraries",
    "wikiqa_dev_search": "encyclopedia",
    "xquad_en": "encyclopedia",
}
QUERIES = 100  # of a collection
PER_REQUEST = 50


@dataclass(frozen=True, slots=True)
class Row:
    """Queries of which the service said that nothing matches them, of those with answers and of others."""

    collection: str
    own: int
    own_refused: int
    others: int
    others_refused: int


def refused(client: Client, collection: str, queries: Sequence[str]) -> int:
    """Number of queries without a good match."""
    found = 0
    for start in range(0, len(queries), PER_REQUEST):
        answer = client.search(queries[start : start + PER_REQUEST], collection, k=1)
        found += sum(result.no_good_match is True for result in answer.results)
    return found


def ask(client: Client, tasks: Mapping[str, Retrieval], about: Mapping[str, str]) -> Iterator[Row]:
    """Store each collection, and ask it the queries of all."""
    rng = random.Random(0)
    queries = {
        name: rng.sample(sorted(task.queries.values()), min(QUERIES, len(task.queries))) for name, task in tasks.items()
    }
    for name, task in tasks.items():
        client.create_collection(name)
        documents = [{"id": doc_id, "text": text} for doc_id, text in task.corpus.items() if text.strip()]
        client.upload(track(documents, f"storing {name}", transient=True), name)
        own, others = queries[name], [each for other in tasks if about[other] != about[name] for each in queries[other]]
        yield Row(name, len(own), refused(client, name, own), len(others), refused(client, name, others))


def show(rows: Sequence[Row], console: Console) -> None:
    """Print a row for each collection."""
    table = Table("collection", "own queries", "of others", title="queries of which no_good_match is said")
    for row in rows:
        own, others = 100 * row.own_refused / row.own, 100 * row.others_refused / max(1, row.others)
        table.add_row(row.collection, f"{own:.1f} % of {row.own}", f"{others:.1f} % of {row.others}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    options = collections_parser(__doc__, list(ABOUT)).parse_args()
    tasks = {name: data_set(name).read(options.data / data_set(name).files[0]) for name in options.sets}
    searches = {name: task for name, task in tasks.items() if isinstance(task, Retrieval)}
    with running_process(models=options.model) as service, Client(service.url, timeout_s=600) as client:
        rows = list(ask(client, searches, {name: ABOUT.get(name, name) for name in searches}))
    show(rows, wide_console())
    save_results("good_matches", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
