"""ArgKP-2021: does a key point sum up an argument on the same topic?"""

from __future__ import annotations

from pathlib import Path

from semblance.models.evaluation.datasets import DataSet
from semblance.models.evaluation.pairs import Columns, labelled_pairs
from semblance.models.evaluation.tasks import LabelledPairs


def read(path: Path) -> LabelledPairs:
    """A table with the columns argument, key_point and label: the three files of the release, joined."""
    return labelled_pairs(path, Columns("argument", "key_point", "label"))


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"arguments and key points that match or not, {split}",
        source="key point analysis shared task of 2021 [friedman-etal-2021-argkp]",
        files=(f"argument/argkp2021.{split}.tsv",),
        read=read,
    )


SETS = (_split("argkp_dev", "dev"), _split("argkp_train", "train"))
