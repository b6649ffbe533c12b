"""Argument facet similarity: arguments on three topics, graded 0 (other topic) to 5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from semblance.models.files.tables import Row, read_csv
from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet

_RELEASED = Columns("sentence_1", "sentence_2", "regression_label")
_TOPICS = {"ArgPairs_GM.csv": "gay marriage", "ArgPairs_GC.csv": "gun control", "ArgPairs_DP.csv": "death penalty"}


def read(path: Path) -> GradedPairs:
    """Read the folder of the release, or a table.

    The columns of the table are topic, sentence1, sentence2 and score. The release has one file per topic, with the
    columns regression_label, sentence_1 and sentence_2 and a few bytes that are not UTF-8, which are replaced.
    """
    if path.is_dir():
        rows = (row for name, topic in _TOPICS.items() for row in _released(path / name, topic))
        return graded_pairs(path, replace(_RELEASED, part="topic"), rows)
    return graded_pairs(path, Columns(part="topic"))


def _released(file: Path, topic: str) -> Iterator[Row]:
    for row in read_csv(file, _RELEASED.names, errors="replace"):
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
