"""Paraphrases and other pairs: sentences of news (MSRP), and questions (QQP)."""

from __future__ import annotations

from pathlib import Path

from semblance.models.judgments.pairs import Columns, LabeledPairs, labeled_pairs
from semblance_lab.evaluation.datasets import DataSet

_RELEASED = Columns("#1 String", "#2 String", "Quality")


def read(path: Path) -> LabeledPairs:
    """Read a table with the columns sentence1, sentence2 and label, or msr_paraphrase_*.txt."""
    return labeled_pairs(path, _RELEASED if path.name.startswith("msr_paraphrase_") else Columns(gold="label"))


def _set(name: str, what: str, source: str, *files: str) -> DataSet:
    return DataSet(name=name, what=what, source=source, files=files, read=read)


_MSRP = "Microsoft Research paraphrase corpus, also in SentEval [dolan-brockett-2005-msrp]"
_QQP = "a sample of Quora question pairs, as in GLUE [wang-etal-2018-glue]"

SETS = (
    _set("msrp", "news that say the same, test", _MSRP, "paraphrase/msrp.test.tsv", "MRPC/msr_paraphrase_test.txt"),
    _set(
        "msrp_train",
        "news that say the same, train",
        _MSRP,
        "paraphrase/msrp.train.tsv",
        "MRPC/msr_paraphrase_train.txt",
    ),
    _set("qqp_dev", "questions that ask the same, dev", _QQP, "paraphrase/qqp_sample.dev.tsv"),
    _set("qqp_train", "questions that ask the same, train", _QQP, "paraphrase/qqp_sample.train.tsv"),
)
