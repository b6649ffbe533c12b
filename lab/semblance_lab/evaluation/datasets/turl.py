"""The Twitter URL corpus: tweets that share a link, judged by six people each."""

from __future__ import annotations

import re
from pathlib import Path

from semblance.models.files.tables import Row, read_headerless_tsv
from semblance.models.judgments.pairs import Columns, GradedPairs, LabeledPairs, graded_pairs, labeled_pairs
from semblance_lab.evaluation.datasets import DataSet

_VOTES = re.compile(r"\((\d), 6\)")
_COLUMNS = Columns(gold="label")


def read(path: Path) -> GradedPairs | LabeledPairs:
    """Read Twitter_URL_Corpus_*.txt of the release, or a table.

    The release has two tweets and the votes "(k, 6)" a line, with k/6 as the grade. The table has the columns
    sentence1, sentence2 and label, where votes were turned into labels (a match from 4 of 6 on, 3 left out), so that
    the pairs are labeled and not graded.
    """
    if path.suffix == ".txt":
        return graded_pairs(
            path, _COLUMNS, read_headerless_tsv(path, {"sentence1": 0, "sentence2": 1, "label": 2}), _grade
        )
    return labeled_pairs(path, _COLUMNS)


def _grade(row: Row, column: str) -> float:
    votes = _VOTES.fullmatch(row.fields[column].strip())
    if not votes or int(votes[1]) > 6:
        raise row.error(f"the votes are {row.fields[column].strip()!r}, expected the form '(4, 6)'")
    return int(votes[1]) / 6


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"tweets that share a link, {split}",
        source="Twitter URL corpus [lan-etal-2017-turl]",
        files=(
            f"twitter/Twitter_URL_Corpus_{split}.txt",
            f"Twitter-URL-Corpus/Twitter_URL_Corpus_{split}.txt",
            f"twitter/turl.{split}.tsv",
        ),
        read=read,
    )


SETS = (_split("turl", "test"), _split("turl_train", "train"))
