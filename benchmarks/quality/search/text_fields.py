"""Are titles found better as text fields than in front of the text, and with which weight?

    python -m benchmarks.quality.search.text_fields --data "$SEMBLANCE_DATA"

stores real documents with titles in three ways: without the titles, with each in front of its text, and with a text
field `title`, which is searched with several weights. Prints nDCG@10 of the service's default search, in percent, and
the difference to titles in front of the texts, with its 95 % interval. It takes minutes, mostly for encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.quality.search.passage_length import collections_parser, mean_interval
from semblance.models.files.lines import json_lines
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_retrieval
from semblance_lab.evaluation.statistics import ndcg
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.running_service import running_process
from tests.support.wide_console import wide_console

SETS = ("cranfield", "cisi", "adi")
WEIGHTS = (0.8, 1.0, 1.1, 1.25, 1.5, 2.0)
BEST = 10


@dataclass(frozen=True, slots=True)
class Row:
    """nDCG@10 in percent of one way to store titles, and its difference to titles in front of the texts."""

    collection: str
    titles: str
    ndcg: float
    difference: float
    low: float
    high: float


def titled_documents(folder: Path) -> list[tuple[str, str, str]]:
    """Id, title and text of the documents; a text that repeats the title is stored without it."""
    found = []
    for _, row in json_lines(folder / "corpus.jsonl"):
        title, text = row["title"].strip(), row["text"].strip()
        text = text.removeprefix(title).strip() or text
        if text:
            found.append((row["_id"], title, text))
    return found


def rows(client: Client, name: str, task: Retrieval, documents: Sequence[tuple[str, str, str]]) -> list[Row]:
    """Search the documents of a collection, stored in each way."""
    stored: dict[str, list[dict[str, Any]]] = {
        f"{name}.without": [{"id": doc_id, "text": text} for doc_id, _, text in documents],
        f"{name}.front": [{"id": doc_id, "text": f"{title} {text}"} for doc_id, title, text in documents],
        f"{name}.field": [{"id": key, "text": text, "metadata": {"title": title}} for key, title, text in documents],
    }
    for collection, own in stored.items():
        client.create_collection(collection, text_fields=["title"] if collection.endswith("field") else [])
        _upload(client, collection, own)
    in_front = _gains(client, f"{name}.front", task, {})
    ways = [("not stored", _gains(client, f"{name}.without", task, {})), ("in front", in_front)]
    ways += [(f"field, {weight:g}", _gains(client, f"{name}.field", task, {"title": weight})) for weight in WEIGHTS]
    made = []
    for way, gains in ways:
        between = mean_interval([100 * (own - other) for own, other in zip(gains, in_front, strict=True)])
        made.append(Row(name, way, 100 * fmean(gains), between.estimate, between.low, between.high))
    return made


def _upload(client: Client, collection: str, documents: Sequence[dict[str, Any]]) -> None:
    client.upload(track(documents, collection), collection)


def _gains(client: Client, collection: str, task: Retrieval, weights: Mapping[str, float]) -> list[float]:
    """nDCG@10 of each query."""
    return [
        ndcg(
            [hit.id for hit in client.search(text, collection, k=BEST, field_weights=weights or None).hits],
            task.relevance[key],
            BEST,
        )
        for key, text in task.queries.items()
    ]


def main() -> None:
    """Run from the command line."""
    options = collections_parser(__doc__, SETS).parse_args()
    table, results = Table("collection", "titles", f"nDCG@{BEST}", "difference", "95 % interval"), []
    with running_process(models=options.model) as service, Client(service.url, timeout_s=600) as client:
        for name in options.sets:
            folder = options.data / data_set(name).files[0]
            for row in rows(client, name, read_retrieval(folder), titled_documents(folder)):
                interval = f"{row.low:+.2f} to {row.high:+.2f}"
                table.add_row(row.collection, row.titles, f"{row.ndcg:.2f}", f"{row.difference:+.2f}", interval)
                results.append(asdict(row))
    wide_console().print(table)
    save_results("text_fields", results)


if __name__ == "__main__":
    main()
