"""PIT-2015: tweets on one topic, graded from 0 (no relation) to 5 (the same)."""

from __future__ import annotations

import re
from pathlib import Path

from semblance.models.files.tables import Row, read_headerless_tsv, row_error
from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet

_RELEASED = {"sentence1": 2, "sentence2": 3, "label": 4}
_VOTES = re.compile(r"\((\d), (\d)\)")


def read(path: Path) -> GradedPairs:
    """Read a table with columns sentence1, sentence2 and score_0_5, or a file of the release.

    dev.data and test.data of the release have no header; their fifth column is the votes of five people, "(2, 3)" for
    two of five, or the digit of an expert.
    """
    if path.suffix == ".data":
        return graded_pairs(path, Columns(gold="label"), read_headerless_tsv(path, _RELEASED), _grade)
    return graded_pairs(path, Columns(gold="score_0_5"))


def _grade(row: Row, column: str) -> float:
    votes = _VOTES.fullmatch(row.fields[column].strip())
    grade = float(votes[1]) if votes else row.number(column)
    if not 0 <= grade <= 5:
        raise row_error(row.file, row.line, f"{column} is {grade:g}, not between 0 and 5")
    return grade


def _split(name: str, split: str, graded: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"tweets of PIT-2015 {split}, graded 0 to 5 by {graded}",
        source="SemEval-2015 task 1 [xu-etal-2015-pit]",
        files=(f"twitter/pit2015.{split}.tsv", f"SemEval-PIT2015/data/{split}.data", f"twitter/{split}.data"),
        read=read,
    )


SETS = (_split("pit", "test", "an expert"), _split("pit_dev", "dev", "votes"), _split("pit_train", "train", "votes"))
