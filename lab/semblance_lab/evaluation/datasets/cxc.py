"""Crisscrossed Captions: pairs of COCO captions, graded from 0 to 5."""

from __future__ import annotations

from pathlib import Path

from semblance.models.judgments.pairs import Columns, GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet


def read(path: Path) -> GradedPairs:
    """Read a table with the columns sentence1, sentence2 and score_0_5.

    It is sts_*.csv of the release with the captions of COCO beside their ids. Nearly all pairs are connected through
    captions that they share, so that the set has no groups of pairs.
    """
    return graded_pairs(path, Columns(gold="score_0_5"))


SETS = (
    DataSet(
        name="cxc_val",
        what="captions of CxC val, graded 0 to 5",
        source="Crisscrossed Captions, with the captions of COCO [parekh-etal-2021-cxc]",
        files=("captions/cxc_sts_val_text.tsv",),
        read=read,
    ),
)
