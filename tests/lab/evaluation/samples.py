"""Small files in the layouts of benchmarks, and a scorer without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from semblance.models.embeddings import Doubles
from semblance.models.explanation import LinkList
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.text import Granularity
from semblance_lab.evaluation.evaluation import interval_of
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import ChunkLink, Retrieval
from tests.support.no_progress import no_progress
from tests.support.text_files import write_json, write_table

LINES = (
    '<sentence id="7" status="">',
    "// A dog runs : yes .",
    "// Dogs [ run ]",
    "<source>",
    "1 A : ",
    "</source>",
    "<alignment>",
    "1 2 <==> 1 // SPE1_FACT // 4 // A dog <==> Dogs ",
    "3 <==> 2 3 4 // EQUI // 5 // ",
    "4 <==> 0 // NOALI // NIL // : <==> -not aligned- ",
    "6 <==> 0 // ALIC // NIL",
    "</alignment>",
    "</sentence>",
)
LINKS = (
    ChunkLink((1, 2), (1,), frozenset({"SPE1", "FACT"}), 4.0),
    ChunkLink((3,), (2, 3, 4), frozenset({"EQUI"}), 5.0),
    ChunkLink((4,), (), frozenset({"NOALI"}), None),
    ChunkLink((6,), (), frozenset({"ALIC"}), None),
)

ROW = {"query": "q  r", "candidates": ["a", "b"], "relevance": [1, 0]}

DOCUMENTS = [{"_id": "d1", "title": "t", "text": "u"}, {"_id": "d2", "text": ""}, {"_id": "d3", "text": "v"}]
QUERIES = [{"_id": "q1", "text": "w"}, {"_id": "q2", "text": "x"}, {"_id": "q3", "text": "y"}]
JUDGED: Sequence[Sequence[object]] = [
    ("query_id", "doc_id", "relevance"),
    ("q1", "d1", 2),
    ("q1", "d9", 1),
    ("q2", "d3", 0),
]


Scores: TypeAlias = Callable[[str, Sequence[str], Sequence[str]], Doubles]
Links: TypeAlias = Callable[[str, str, str], LinkList]

FEW = Resampling(draws=50)


def values(metrics: TaskMetrics) -> dict[str, float]:
    """The estimate of each metric."""
    return {metric.name: interval_of(metric, FEW).estimate for metric in metrics.metrics}


class FakeScorer:
    """Gives these scores and links, and finds documents in the order of the corpus."""

    track = staticmethod(no_progress)

    def __init__(self, scores: Scores | None, links: Links | None, name: str) -> None:
        self._scores, self._links, self._name = scores, links, name

    def about(self) -> Mapping[str, str]:
        return {"model": self._name}

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        assert self._scores is not None
        return {name: self._scores(name, left, right) for name in measures}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        assert self._links is not None
        assert granularity == "token"
        for a, b in zip(left, right, strict=True):
            yield {name: self._links(name, a, b) for name in measures}

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        return {name: {query: list(task.corpus)[:k] for query in task.queries} for name in measures}


def fake_scorer(scores: Scores | None = None, links: Links | None = None, name: str = "fake") -> Scorer:
    """A scorer by functions of the name of a measure and its texts."""
    return cast("Scorer", FakeScorer(scores, links, name))


def write_collection(folder: Path) -> Path:
    """Write a collection of a few documents with judged queries."""
    write_json(folder / "corpus.jsonl", *DOCUMENTS)
    write_json(folder / "queries.jsonl", *QUERIES)
    write_table(folder / "qrels.tsv", JUDGED)
    return folder
