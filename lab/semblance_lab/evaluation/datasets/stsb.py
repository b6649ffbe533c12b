"""The STS benchmark: a selection of the STS tasks of 2012 to 2017, graded from 0 to 5."""

from __future__ import annotations

from pathlib import Path

from semblance.models.files.tables import read_headerless_tsv
from semblance.models.judgments.pairs import GradedPairs, graded_pairs
from semblance_lab.evaluation.datasets import DataSet


def read(path: Path) -> GradedPairs:
    """Read a table with the columns sentence1, sentence2 and score, or sts-*.csv of the release."""
    if path.suffix == ".csv":  # tab-separated, in spite of its name
        return graded_pairs(path, rows=read_headerless_tsv(path, {"score": 4, "sentence1": 5, "sentence2": 6}))
    return graded_pairs(path)


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"STS benchmark {split}, grades 0 to 5",
        source="STS benchmark, also in SentEval and GLUE [cer-etal-2017-stsb]",
        files=(f"stsb/stsb.{split}.tsv", f"STS/STSBenchmark/sts-{split}.csv", f"stsbenchmark/sts-{split}.csv"),
        read=read,
    )


SETS = (_split("stsb", "test"), _split("stsb_dev", "dev"), _split("stsb_train", "train"))
