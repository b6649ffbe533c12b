"""Small files in the layouts of benchmarks, and the figures of a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.models.evaluation.evaluation import interval_of
from semblance.models.evaluation.results import TaskMetrics
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import ChunkLink
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


FEW = Resampling(draws=50)


def values(metrics: TaskMetrics) -> dict[str, float]:
    """The estimate of each metric."""
    return {metric.name: interval_of(metric, FEW).estimate for metric in metrics.metrics}


def write_collection(folder: Path) -> Path:
    """Write a collection of a few documents with judged queries."""
    write_json(folder / "corpus.jsonl", *DOCUMENTS)
    write_json(folder / "queries.jsonl", *QUERIES)
    write_table(folder / "qrels.tsv", JUDGED)
    return folder
