"""Are documents found better by their passages than by their beginning?

    python -m benchmarks.quality.search.passage_length --data "$SEMBLANCE_DATA"

cuts the documents of real collections to passages of several lengths, with an overlap of one sentence, and searches
them by `cosine`, where a document is as similar as its best passage. Prints nDCG@10 of each length, and its difference
to that of documents that are not cut but truncated by the model (`none`), with a 95 % interval (BCa bootstrap over the
queries). It takes minutes, mostly for encoding.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from semblance.models.judgments.bootstrap import Interval, bca
from semblance.models.judgments.counts import mean_value
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.tokenization.passages import Cut, cut_passages, fits
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.registry import read_source
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_retrieval
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.statistics import ndcg
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.no_progress import no_progress
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SETS = ("cranfield", "medline", "cisi", "nfcorpus_dev")
LENGTHS = (64, 128, 200)  # tokens; the last is what the built-in models' documents are cut to
OVERLAP = 1  # sentences
BEST = 10
NUMBER = "\t"  # between the id of a document and the number of a passage


@dataclass(frozen=True, slots=True)
class Row:
    """nDCG@10 of one length of passages, and its difference to that of truncated documents (percentage points)."""

    collection: str
    queries: int
    passages: str
    per_document: float
    ndcg: float
    difference: float
    low: float
    high: float


def rows(encoder: Encoder, collection: str, task: Retrieval, lengths: Sequence[int] = LENGTHS) -> Iterator[Row]:
    """One row for documents that are not cut, and one for each length."""
    whole = gains(encoder, task, task)
    for length in (None, *lengths):
        cut = task if length is None else cut_corpus(encoder, task, Cut(length, OVERLAP))
        own = whole if length is None else gains(encoder, cut, task)
        change = mean_interval([a - b for a, b in zip(own, whole, strict=True)])
        yield Row(
            collection=collection,
            queries=len(own),
            passages="none" if length is None else f"{length} tokens",
            per_document=len(cut.corpus) / len(task.corpus),
            ndcg=100 * fmean(own),
            difference=100 * change.estimate,
            low=100 * change.low,
            high=100 * change.high,
        )


def cut_corpus(encoder: Encoder, task: Retrieval, cut: Cut) -> Retrieval:
    """The task with passages in place of documents; their ids are those of the documents and a number."""
    corpus = {
        f"{doc_id}{NUMBER}{number}": passage
        for doc_id, text in task.corpus.items()
        for number, passage in enumerate(_passages(encoder, text, cut))
    }
    return replace(task, corpus=corpus)


def _passages(encoder: Encoder, text: str, cut: Cut) -> list[str]:
    """The passages of a document as a collection stores them: only what is longer than one is cut."""
    tokenize = partial(encoder.tokenize, role="document", truncate="END")
    [tokens] = tokenize([text])
    return [text] if fits(tokens, cut) else [text[start:end] for start, end in cut_passages(text, cut, tokenize)]


def gains(encoder: Encoder, searched: Retrieval, task: Retrieval) -> list[float]:
    """nDCG@10 of each query of a task, whose documents are searched by their passages."""
    most = BEST * max(_passages_of(searched).values())  # enough passages for ten documents
    [rankings] = LocalScorer(encoder, no_progress).search(["cosine"], searched, most).values()
    return [ndcg(_documents(ranking), task.relevance[query], BEST) for query, ranking in rankings.items()]


def _documents(passages: Sequence[str]) -> list[str]:
    """Documents in the order of their best passages."""
    return list(dict.fromkeys(_document(each) for each in passages))


def _passages_of(task: Retrieval) -> Counter[str]:
    return Counter(_document(each) for each in task.corpus)


def _document(passage: str) -> str:
    return passage.partition(NUMBER)[0]


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean of the values, and its 95 % interval (BCa bootstrap)."""
    [sample] = mean_value("mean", values).samples
    return bca(sample.statistic, sample.n)


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each length."""
    names = ("collection", "queries", "passages", "passages a document", f"nDCG@{BEST}", "difference", "95 % interval")
    table = Table(*names, title=f"nDCG@{BEST} by cosine, in percent, and its difference to truncated documents")
    for row in results:
        table.add_row(
            row.collection,
            f"{row.queries:,}",
            row.passages,
            f"{row.per_document:.2f}",
            f"{row.ndcg:.2f}",
            f"{row.difference:+.2f}",
            f"{row.low:+.2f} to {row.high:+.2f}",
        )
    console.print(table)


def collections_parser(description: str | None, sets: Sequence[str]) -> argparse.ArgumentParser:
    """Parser of the options of a benchmark on search collections."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with the collections, as for semblance evaluate"
    )
    parser.add_argument("--sets", nargs="+", default=sets, help="search collections of semblance evaluate")
    parser.add_argument("--model", default=next(iter(BUILT_IN)), help="built-in name, or a folder")
    return parser


def main() -> None:
    """Run from the command line."""
    options = collections_parser(__doc__, SETS).parse_args()
    console = wide_console()
    encoder = read_source(options.model).load(options.model, Compute())
    results: list[Row] = []
    for name in options.sets:
        own = list(rows(encoder, name, read_retrieval(options.data / data_set(name).files[0])))
        show(own, console)
        results += own
    save_results("passage_length", [asdict(row) for row in results])


if __name__ == "__main__":
    main()
