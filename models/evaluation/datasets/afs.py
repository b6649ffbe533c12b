"""Argument facet similarity: arguments on three topics, graded from 0 (other topic) to 5 (the same facet)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from semblance.models.evaluation.datasets import DataSet
from semblance.models.evaluation.pairs import Columns, graded_pairs
from semblance.models.evaluation.tasks import GradedPairs
from semblance.models.files.tables import Row, comma_table

_RELEASED = Columns("sentence_1", "sentence_2", "regression_label")
_TOPICS = {"ArgPairs_GM.csv": "gay marriage", "ArgPairs_GC.csv": "gun control", "ArgPairs_DP.csv": "death penalty"}


def read(path: Path) -> GradedPairs:
    """The folder of the release, a file a topic, or a table with the columns topic, sentence1, sentence2 and score.

    The files of the release name their columns regression_label, sentence_1 and sentence_2, and hold a few bytes that
    are not UTF-8; those are replaced.
    """
    if path.is_dir():
        rows = (row for name, topic in _TOPICS.items() for row in _released(path / name, topic))
        return graded_pairs(path, replace(_RELEASED, part="topic"), rows)
    return graded_pairs(path, Columns(part="topic"))


def _released(file: Path, topic: str) -> Iterator[Row]:
    for row in comma_table(file, _RELEASED.names, errors="replace"):
        yield replace(row, fields={**row.fields, "topic": topic})


SETS = (
    DataSet(
        name="afs",
        what="arguments on three topics, graded 0 to 5",
        source="Argument Facet Similarity corpus [misra-etal-2016-afs]",
        files=("argument/afs.tsv", "argument/AFS", "AFS"),
        read=read,
    ),
)
