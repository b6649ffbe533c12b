"""Which measure orders the documents of /v2/rerank best?

    python -m benchmarks.quality.reranking --data "$SEMBLANCE_DATA"

stores each search collection in a running service, and finds the 100 documents nearest to each query by `cosine`. It
posts these to /v2/rerank with each measure, and prints the nDCG@10 of the answers, and its differences to that of
`cosine` and to that of the default measure, with their 95 % intervals (BCa bootstrap over queries); `mean` is over the
collections. The questions of WikiQA have candidates of their own, all of which are ordered. Documents longer than the
model reads are truncated: the second table counts them. It takes minutes, mostly for encoding.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import httpx2
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from semblance.models.judgments.bootstrap import Interval, Resampling, bca_mean, difference
from semblance.models.judgments.counts import mean_value
from semblance.service.usecases.rerank import DEFAULT_MEASURE
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.evaluation.evaluation import interval_of
from semblance_lab.evaluation.statistics import ndcg
from semblance_lab.evaluation.tasks import Rankings, Retrieval, Task
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

MODELS = ("minilm-graded", "minilm-words", "minilm")
SETS = ("cranfield", "cisi", "nfcorpus_dev", "wikiqa_dev")
FIRST_STAGE = "cosine"
MEASURES = (FIRST_STAGE, "rcmd", "rcmd1", "rcmd_words", "rcmd1_words")
NEAREST = 100
BEST = 10
COLLECTION = "reranked"
REQUEST_S = 300.0
CACHE_BYTES = 2 << 30  # the token vectors of a collection, which are encoded once for all queries and measures
MEAN = "mean"

Values: TypeAlias = Mapping[str, Sequence[float]]  # measure -> nDCG@10 of each query


@dataclass(frozen=True, slots=True)
class Candidates:
    """A query with its candidates, nearest first, and the relevance of all judged documents by id."""

    query: str
    ids: Sequence[str]
    texts: Sequence[str]
    relevance: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Quality:
    """Mean nDCG@10 by one measure, and its differences to `cosine` and to the default, with low and high ends."""

    model: str
    collection: str
    measure: str
    ndcg: float
    to_cosine: float
    interval: list[float]
    to_default: float
    default_interval: list[float]


@dataclass(frozen=True, slots=True)
class Size:
    """Queries, all judged queries of the set, documents reranked for them, and how many of these were truncated."""

    model: str
    collection: str
    queries: int
    judged: int
    documents: int
    truncated: int


def judged_queries(task: Task) -> list[int]:
    """The numbers of the queries of a set. Raises SystemExit: it has no ranked documents."""
    if not isinstance(task, Retrieval | Rankings):
        raise SystemExit("only search collections and candidates of questions can be reranked")
    return list(range(len(task.queries)))


def candidates(client: Client, task: Task, chosen: Sequence[int]) -> list[Candidates]:
    """The candidates of some queries: those of the set, or the nearest documents of its corpus."""
    if isinstance(task, Retrieval):
        return list(_nearest(client, task, chosen))
    assert isinstance(task, Rankings)
    return [_given(task.queries[i], task.candidates[i], task.relevance[i]) for i in chosen]


def _given(query: str, texts: Sequence[str], relevance: Sequence[float]) -> Candidates:
    ids = [str(i) for i in range(len(texts))]
    return Candidates(query, ids, texts, dict(zip(ids, relevance, strict=True)))


def _nearest(client: Client, task: Retrieval, chosen: Sequence[int]) -> Iterator[Candidates]:
    """Search a new collection of the whole corpus."""
    client.create_collection(COLLECTION)
    documents = [{"id": doc_id, "text": text} for doc_id, text in task.corpus.items()]
    client.upload(track(documents, "storing", transient=True), COLLECTION)
    asked = list(task.queries.items())
    for query_id, query in track([asked[i] for i in chosen], "searching", transient=True):
        hits = client.search(query, COLLECTION, mode="vector", measure=FIRST_STAGE, k=NEAREST).hits
        yield Candidates(query, [hit.id for hit in hits], [hit.text for hit in hits], task.relevance[query_id])
    client.delete_collection(COLLECTION)


def rerank(http: httpx2.Client, of_query: Candidates, measure: str) -> tuple[list[str], int]:
    """Ids of the documents, best first, and how many of them were truncated."""
    body = {"query": of_query.query, "documents": of_query.texts, "measure": measure, "return_documents": False}
    answer = http.post("/v2/rerank", json=body).raise_for_status()
    ranking = [of_query.ids[result["index"]] for result in answer.json()["results"]]
    return ranking, int(answer.headers.get("x-semblance-truncated", 0))


def values_of(http: httpx2.Client, queries: Sequence[Candidates], title: str) -> tuple[Values, int]:
    """nDCG@10 of each query by each measure, and the number of truncated documents."""
    values: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    truncated = 0
    for each in track(queries, title, transient=True):
        answers = {measure: rerank(http, each, measure) for measure in MEASURES}
        for measure, (ranking, _) in answers.items():
            values[measure].append(ndcg(ranking, each.relevance, BEST))
        truncated += answers[FIRST_STAGE][1]
    return values, truncated


def intervals_of(values: Values) -> Mapping[str, Sequence[Interval]]:
    """Measure -> the interval of its mean nDCG@10, and of its paired differences to `cosine` and to the default."""
    own = {measure: interval_of(mean_value("ndcg@10", each), Resampling()) for measure, each in values.items()}
    return {
        measure: (each, difference(each, own[FIRST_STAGE]), difference(each, own[DEFAULT_MEASURE]))
        for measure, each in own.items()
    }


def rows(model: str, of_sets: Mapping[str, Mapping[str, Sequence[Interval]]]) -> list[Quality]:
    """A row for each set and measure, and for the mean over the sets."""
    means = {
        measure: [
            bca_mean(each) for each in zip(*(by_measure[measure] for by_measure in of_sets.values()), strict=True)
        ]
        for measure in MEASURES
    }
    return [
        Quality(model, name, measure, own.estimate, *_ends(to_cosine), *_ends(to_default))
        for name, by_measure in {**of_sets, MEAN: means}.items()
        for measure, (own, to_cosine, to_default) in by_measure.items()
    ]


def _ends(interval: Interval) -> tuple[float, list[float]]:
    return interval.estimate, [interval.low, interval.high]


def measure_model(model: str, tasks: Mapping[str, Task], most: int | None) -> tuple[list[Quality], list[Size]]:
    """Measure one model on all sets, with at most `most` queries of each, the same ones on every call."""
    found, sizes = {}, []
    with (
        running_service(models=model, cache_bytes=str(CACHE_BYTES)) as url,
        Client(url) as client,
        httpx2.Client(base_url=url, timeout=REQUEST_S) as http,
    ):
        for name, task in tasks.items():
            judged = judged_queries(task)
            chosen = judged if most is None else sorted(random.Random(0).sample(judged, min(most, len(judged))))
            queries = candidates(client, task, chosen)
            values, truncated = values_of(http, queries, f"{model}, {name}")
            documents = sum(len(each.ids) for each in queries)
            found[name] = intervals_of(values)
            sizes.append(Size(model, name, len(queries), len(judged), documents, truncated))
    return rows(model, found), sizes


def show(qualities: Sequence[Quality], sizes: Sequence[Size], console: Console) -> None:
    """Print both tables."""
    title = f"nDCG@{BEST} of /v2/rerank, of the {NEAREST} nearest documents by {FIRST_STAGE}"
    compared = (f"to {FIRST_STAGE}", "95 % interval", f"to {DEFAULT_MEASURE}", "95 % interval")
    table = Table("model", "collection", "measure", f"nDCG@{BEST}", *compared, title=title)
    for row in qualities:
        differences = ((row.to_cosine, row.interval), (row.to_default, row.default_interval))
        figures = [
            text for value, (low, high) in differences for text in (f"{value:+.4f}", f"{low:+.4f} to {high:+.4f}")
        ]
        last = row.measure == MEASURES[-1]
        table.add_row(row.model, row.collection, row.measure, f"{row.ndcg:.4f}", *figures, end_section=last)
    console.print(table)
    table = Table("model", "collection", "queries", "documents", "truncated", title="texts of the requests")
    for size in sizes:
        queries = f"{size.queries} of {size.judged}"
        table.add_row(size.model, size.collection, queries, f"{size.documents:,}", f"{size.truncated:,}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--sets", nargs="+", default=SETS, help="sets of semblance evaluate")
    parser.add_argument("--models", nargs="+", default=MODELS, help="built-in names, or folders")
    parser.add_argument("--queries", type=int, help="most queries of each set, drawn at random; all by default")
    options = parser.parse_args()
    tasks = {name: read_task(name, options.data) for name in options.sets}
    qualities: list[Quality] = []
    sizes: list[Size] = []
    for model in options.models:
        of_model = measure_model(model, tasks, options.queries)
        show(*of_model, wide_console())
        qualities += of_model[0]
        sizes += of_model[1]
    save_results("reranking", {"nDCG@10": [asdict(row) for row in qualities], "texts": [asdict(row) for row in sizes]})


if __name__ == "__main__":
    main()
