"""Layouts of a user's files: those of the benchmarks."""

from __future__ import annotations

from semblance.models.errors import BadDataSet
from semblance.models.judgments.user_tables import PAIR_LAYOUTS, DataLayout, Layouts, UserTable
from semblance_lab.evaluation.datasets import ists, queries
from semblance_lab.evaluation.tasks import Task, Triplets


def _triplets(table: UserTable) -> Task:
    rows = [[row.text(table.name(each)) for each in table.columns] for row in table.rows()]
    if not rows:
        raise BadDataSet(f"{table.path} contains no triplets")
    return Triplets(*zip(*rows, strict=True))


def _chunks(table: UserTable) -> Task:
    return ists.read(table.path.with_name(f"{table.path.name}.wa"))


LAYOUTS: Layouts[Task] = {
    **PAIR_LAYOUTS,
    "triplets": DataLayout(("anchor", "positive", "negative"), _triplets),
    "ranking": DataLayout((), lambda table: queries.read_rankings(table.path)),
    "retrieval": DataLayout((), lambda table: queries.read_retrieval(table.path)),
    "ists": DataLayout((), _chunks),
}
"""Kinds of a user's files, beside the tables of judged pairs.

========= ==================================================================================
triplets  a table with the columns anchor, positive and negative
ranking   a JSON object a line: query, candidates (texts), relevance (one number each)
retrieval a folder with corpus.jsonl, queries.jsonl and qrels.tsv
ists      files PREFIX.wa and, optionally, PREFIX.sent1.chunk.txt and PREFIX.sent2.chunk.txt
========= ==================================================================================
"""
