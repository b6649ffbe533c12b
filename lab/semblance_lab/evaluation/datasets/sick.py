"""SICK: captions and their rewordings, graded for relatedness from 1 to 5."""

from __future__ import annotations

from pathlib import Path

from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet

_RELEASED = Columns("sentence_A", "sentence_B", "relatedness_score")


def read(path: Path) -> GradedPairs:
    """Read a table with columns sentence1, sentence2 and score, or SICK_*.txt of the release."""
    return graded_pairs(path, _RELEASED if path.suffix == ".txt" else Columns())


def _split(name: str, split: str, released: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"SICK relatedness {split}, grades 1 to 5",
        source="SICK of SemEval-2014, also in SentEval [marelli-etal-2014-sick]",
        files=(f"sick/sick.{split}.tsv", f"SICK/{released}"),
        read=read,
    )


SETS = (
    _split("sickr", "test", "SICK_test_annotated.txt"),
    _split("sickr_trial", "trial", "SICK_trial.txt"),
    _split("sickr_train", "train", "SICK_train.txt"),
)
