"""ArgKP-2021: key points that match an argument on the same topic, or not."""

from __future__ import annotations

from pathlib import Path

from semblance.models.judgments.pairs import Columns, LabeledPairs, labeled_pairs
from semblance_lab.evaluation.datasets import DataSet


def read(path: Path) -> LabeledPairs:
    """Read a table of the joined files of the release: columns argument, key_point and label."""
    return labeled_pairs(path, Columns("argument", "key_point", "label"))


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"arguments and key points that match or not, {split}",
        source="key point analysis shared task of 2021 [friedman-etal-2021-argkp]",
        files=(f"argument/argkp2021.{split}.tsv",),
        read=read,
    )


SETS = (_split("argkp_dev", "dev"), _split("argkp_train", "train"))
